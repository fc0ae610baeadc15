# What a program written with OpenAI's Python client does, against the server whose address is the argument.
# Any answer that the client does not take, or takes otherwise, is an exit code other than 0.
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
fixed = {"ignore_eos": True}

whole = client.chat.completions.create(
    model=model, messages=messages, max_tokens=12, seed=3, extra_body=fixed
)
assert whole.choices[0].finish_reason == "length", whole
assert whole.usage.completion_tokens == 12, whole.usage
assert whole.usage.prompt_tokens_details.cached_tokens >= 0

text, finish, usage = "", None, None
with client.chat.completions.create(
    model=model,
    messages=messages,
    max_completion_tokens=12,
    seed=3,
    stream=True,
    stream_options={"include_usage": True},
    extra_body=fixed,
) as stream:
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
assert text == whole.choices[0].message.content, (text, whole)
assert (finish, usage.completion_tokens) == ("length", 12)

plain = client.completions.create(model=model, prompt="Once upon", max_tokens=5, n=2, extra_body=fixed)
assert len(plain.choices) == 2 and plain.usage.completion_tokens == 10, plain

for call, error in (
    (dict(model="other", messages=messages), openai.NotFoundError),
    (dict(model=model, messages=messages, max_tokens=-1), openai.BadRequestError),
    (dict(model=model, messages=messages, tools=[]), openai.BadRequestError),
):
    try:
        client.chat.completions.create(**call)
        sys.exit(f"not refused: {call}")
    except error as refused:
        assert refused.body["message"], refused

# Leaving a stream in its middle frees the connection for the next call.
with client.chat.completions.create(
    model=model, messages=messages, max_tokens=400, stream=True, extra_body=fixed
) as stream:
    next(iter(stream))
client.chat.completions.create(model=model, messages=messages, max_tokens=1)
print("openai", openai.__version__)
