# Log-probabilities as OpenAI's Python client reads them, whole and streamed, from the server of the argument.
# Any answer that the client does not take, or takes otherwise, is an exit code other than 0.
import math
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
call = dict(
    model=model,
    messages=[{"role": "user", "content": "Hi"}],
    max_tokens=8,
    temperature=0,
    logprobs=True,
    top_logprobs=3,
    extra_body={"ignore_eos": True},
)
whole = client.chat.completions.create(**call).choices[0].logprobs.content
assert len(whole) == 8, whole
for token in whole:
    assert len(token.top_logprobs) == 3 and token.logprob == token.top_logprobs[0].logprob, token
    assert 0 < sum(math.exp(other.logprob) for other in token.top_logprobs) <= 1, token
    assert token.bytes is None or bytes(token.bytes).decode(errors="replace") or token.token

streamed = []
for chunk in client.chat.completions.create(stream=True, **call):
    if chunk.choices and chunk.choices[0].logprobs:
        streamed += chunk.choices[0].logprobs.content
assert streamed == whole, (streamed, whole)

text = client.completions.create(model=model, prompt="Once", max_tokens=5, temperature=0, logprobs=2)
lists = text.choices[0].logprobs
assert {len(lists.tokens), len(lists.token_logprobs), len(lists.top_logprobs), len(lists.text_offset)} == {
    text.usage.completion_tokens
}, lists
assert lists.top_logprobs[0][lists.tokens[0]] == lists.token_logprobs[0], lists
