# The mutants: what a tired hand might write. tests/emulator/mutants.h declares their functions.

servetwin_mutant(decode_without_rescale FILE attention/paged_decode.cu
  FROM "sums[part] = sums[part] * kept + weight" TO "sums[part] = sums[part] + weight")
servetwin_mutant(decode_with_wrong_heads FILE attention/paged_decode.cu
  FROM "task.kv_head * group + in_group" TO "task.kv_head + in_group")
servetwin_mutant(decode_without_last_key FILE attention/paged_decode.cu
  FROM "min((block_x() + 1) * kSplitKeys, seen)" TO "min((block_x() + 1) * kSplitKeys - 1, seen)")
servetwin_mutant(decode_of_padded_rows FILE attention/paged_decode.cu
  FROM "highest == kNoScore ? 0.0F : sum / total" TO "sum / total")
servetwin_mutant(prefill_without_rescale FILE attention/paged_prefill.cu
  FROM "shared.sums[query * width + i] *= kept" TO "shared.sums[query * width + i] *= 1.0F")
servetwin_mutant(prefill_without_own_key FILE attention/paged_prefill.cu
  FROM "key <= position" TO "key < position")
servetwin_mutant(prefill_without_tail FILE attention/paged_prefill.cu
  FROM "ceil_div(rows.max_queries, kQueryTile)" TO "max(std::int64_t{1}, rows.max_queries / kQueryTile)")
servetwin_mutant(prefill_with_wrong_heads FILE attention/paged_prefill.cu
  FROM "task.head / (all.options.heads / all.cache.kv_heads)" TO "task.head % all.cache.kv_heads")
servetwin_mutant(store_of_padded_rows FILE rotary/rotary_store.cu
  FROM "slot < 0 ? 0 : cache.kv_heads" TO "cache.kv_heads")
servetwin_mutant(gather_of_padded_rows FILE embedding/gather_rows.cu
  FROM "if (index < 0) {" TO "if (index < -1) {")
servetwin_mutant(activation_without_tail FILE activation/gated_activation.cu
  FROM "packs = rows * width / size"
  TO "packs = rows * width / size / kActivationThreads * kActivationThreads")
servetwin_mutant(matvec_without_last_row FILE gemm/matvec.cu
  FROM "weight_row >= all.weight_rows" TO "weight_row + 1 >= all.weight_rows")
servetwin_mutant(choice_without_ties FILE sampling/choose_tokens.cu
  FROM "if (before == front.equals) *token" TO "if (before == 1.0F) *token")
servetwin_mutant(router_with_higher_ids FILE moe/router.cu
  FROM "other == best && other_index < index" TO "other == best && other_index > index")
