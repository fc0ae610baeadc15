// Functions of the mutants that mutants.cmake makes of the kernels.
#pragma once

#include "kernels/activation/gated_activation_cuda.h"
#include "kernels/attention/paged_attention_cuda.h"
#include "kernels/embedding/gather_rows_cuda.h"
#include "kernels/gemm/matvec_cuda.h"
#include "kernels/moe/router_cuda.h"
#include "kernels/rotary/rotary_store_cuda.h"
#include "kernels/sampling/choose_tokens_cuda.h"

namespace servetwin {

using DecodeFunction = decltype(paged_decode_cuda);
using PrefillFunction = decltype(paged_prefill_cuda);

namespace decode_without_rescale {
DecodeFunction paged_decode_cuda;
}
namespace decode_with_wrong_heads {
DecodeFunction paged_decode_cuda;
}
namespace decode_without_last_key {
DecodeFunction paged_decode_cuda;
}
namespace decode_of_padded_rows {
DecodeFunction paged_decode_cuda;
}
namespace prefill_without_rescale {
PrefillFunction paged_prefill_cuda;
}
namespace prefill_without_own_key {
PrefillFunction paged_prefill_cuda;
}
namespace prefill_without_tail {
PrefillFunction paged_prefill_cuda;
}
namespace prefill_with_wrong_heads {
PrefillFunction paged_prefill_cuda;
}
namespace store_of_padded_rows {
decltype(servetwin::rotary_store_cuda) rotary_store_cuda;
}
namespace gather_of_padded_rows {
decltype(servetwin::gather_rows_cuda) gather_rows_cuda;
}
namespace activation_without_tail {
decltype(servetwin::silu_and_mul_cuda) silu_and_mul_cuda;
}
namespace matvec_without_last_row {
decltype(servetwin::matvec_cuda) matvec_cuda;
}
namespace router_with_higher_ids {
decltype(servetwin::route_cuda) route_cuda;
}
namespace choice_without_ties {
decltype(servetwin::choose_tokens_cuda) choose_tokens_cuda;
}

}  // namespace servetwin
