#!/usr/bin/env python3
"""Makes tests/oracles/chat_templates.json: what Jinja renders of templates in the manner of each family.

    build/tokenizer_oracles/bin/pip install jinja2==3.1.6
    build/tokenizer_oracles/bin/python tests/oracles/make_chat_templates.py

The environment is set up as Hugging Face transformers does: trim_blocks, lstrip_blocks, its tojson, raise_exception.
The family templates are written here after the prompt formats that the families document, with the constructs
their published templates use.
"""
import json
import os

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))

FAMILIES = {
    "llama2": r"""{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "llama3": r"""{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}""",
    "llama31": r"""{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message, or an empty one. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if builtin_tools is defined or tools is not none %}
    {{- "Environment: ipython\n" }}
{%- endif %}
{%- if builtin_tools is defined %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\n\n"}}
{%- endif %}
{{- "Today Date: " + date_string + "\n\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {%- for arg_name, arg_val in tool_call.arguments | items %}
            {{- arg_name + '="' ~ arg_val ~ '"' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- endif %}
        {%- endfor %}
        {{- '"parameters": ' + (tool_call.arguments | tojson) + "}<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\n\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
""",
    "qwen2": r"""{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful assistant.<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}""",
    "qwen25": r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\n\n# Tools\n\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools><|im_end|>\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\n<tool_call>\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}
        {{- message.content }}
        {{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
""",
    "qwen3": r"""{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}""",
    "mistral": r"""{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}
""",
    "gemma": r"""{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
""",
    "phi3": r"""{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "deepseek": r"""{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', is_first_sp=true) %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\n\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<｜User｜>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and 'tool_calls' in message %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{%- if message['content'] is none %}{{'<｜Assistant｜><｜tool▁calls▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name'] + '\n' + '```json' + '\n' + tool['function']['arguments']|tojson + '\n' + '```' + '<｜tool▁call▁end｜>'}}{%- else %}{{'<｜Assistant｜>' + message['content'] + tool['function']['name']}}{%- endif %}{%- set ns.is_first = true -%}{%- else %}{{'\n' + tool['function']['name']}}{%- endif %}{%- endfor %}{{'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none and 'tool_calls' not in message %}{%- if ns.is_tool %}{{'<｜tool▁outputs▁end｜>' + message['content'] + '<｜end▁of▁sentence｜>'}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\n<｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\n'}}{% endif %}""",
}

TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather <now> & \"then\"", "return": 1,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3},
                       "é": {"enum": ["a", 1, 2.5, None, True, [], {}]}}, "required": ["city"]}}}
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"type": "function", "id": "abcdefghi", "function": {"name": "weather", "arguments": {"city": "Köln", "days": 2}}}]}
CONVERSATIONS = [
    [{"role": "user", "content": "Hi"}],
    [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "  Hello, 世界!\n"}],
    [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "<think>\nadd\n</think>\n\nTwo 😀"}, {"role": "user", "content": "Sure?"}],
    [{"role": "system", "content": "S"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
     {"role": "user", "content": "c"}, {"role": "assistant", "content": "<think>x</think>d"}],
    [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    [{"role": "user", "content": "weather?"}, CALL, {"role": "tool", "content": "sunny"}, {"role": "tool", "content": "warm"}],
    [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " look "}]}],
    [{"role": "assistant", "content": "first"}],
    [],
]

SNIPPETS = [
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "  {%- if true -%}  x  {%- endif -%}  y", "{% if true +%}\nx{% endif %}", "  {%+ if true %}x{% endif %}",
    "{# c #}\n  {#- d -#}  e {{ 1 }}  \n{{- 2 -}}\n 3", "x {{ 'a' }}\n  {% set y = 1 %}\n {{ y }}\n", "line\n\n\n", "{{ '}}' }}{{ '%}' }}{{ {'a': {'b': 1}} }}", "\ttab {% if 1 %}t{% endif %}\r\nend\r\n",
    "{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ -7 // 2 }} {{ 7 / 2 }} {{ -3 }} {{ 1.5 + 1 }}",
    "{{ 'a' ~ 1 + 2 ~ 'b' }} {{ 1 ~ none ~ true }} {{ 'x' + 'y' | upper }}", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' != 1 }} {{ 2 >= 2 }} {{ 3 <= 2 }}",
    "{{ 'b' in 'abc' }} {{ 'z' not in 'abc' }} {{ 2 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ not 1 in [2] }}", "{{ [1, 'a', none, true, 2.5, {'x': \"it's\"}] }} {{ (1, 2)[0] }}",
    "{{ u }}|{{ u is defined }}|{{ u is undefined }}|{{ not u }}|{{ u|default('d') }}|{{ ''|default('d', true) }}|{{ u ~ 'x' }}|{{ u|length }}|{{ u == u }}",
    "{{ u.x }}", "{{ u['x'] }}", "{{ u + 'x' }}", "{{ 'a' + 1 }}", "{{ none + 'a' }}", "{{ d.missing }}|{{ d['missing'] is defined }}|{{ d.missing.more }}", "{{ u|tojson }}", "{{ 1 / 0 }}", "{{ 1 < 'a' }}",
    "{% for i in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
    "{% for i in [1, 2, 3, 4] if i % 2 == 0 %}{{ i }}{{ loop.index }}{{ loop.last }}{% else %}none{% endfor %}", "{% for i in [] %}x{% else %}empty{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}", "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "{% set ns = namespace(a=1) %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }} {{ ns.b is defined }}",
    "{% for c in 'aé😀' %}[{{ c }}]{% endfor %} {{ 'aé😀'|length }} {{ 'aé😀'[-1] }} {{ 'aé😀'[1:] }} {{ 'abc'[::-1] }}", "{{ [1,2,3,4,5][1:4] }} {{ [1,2,3][-2:] }} {{ [1,2,3][:-1] }} {{ [1,2,3][5:] }} {{ [1,2,3,4,5][::2] }} {{ [1,2,3,4][3:0:-2] }} {{ [1,2,3][::-1] }} {{ [1,2][9] is defined }} {{ [1,2][-2] }}",
    "{{ ' a '|trim }}|{{ 'xxaxx'.strip('x') }}|{{ '\u3000 a\t'.strip() }}|{{ 'ab'.lstrip('a') }}|{{ 'ab'.rstrip('b') }}|{{ ' a '.strip(none) }}", "{{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'abc'.split('x') }}",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith('ab') }} {{ 'aXa'.replace('a', 'bb') }} {{ 'aXa'|replace('X', '-') }} {{ 'hELLO wORLD'|capitalize }} {{ 'x'.upper() }} {{ 'X'|lower }}",
    "{{ d|tojson }} {{ d|tojson(indent=2) }} {{ '<>&\\'\"\u2028\\n\x07'|tojson }} {{ [1.0, 1e3, 0.1]|tojson }} {{ 1.5e-7|string if false else 0.00001 }} {{ 100000000000000000.0 }} {{ []|tojson(indent=4) }}",
    "{{ [1, 2]|join(', ') }} {{ [1, 2]|first }} {{ [1, 2]|last }} {{ d|list }} {{ [3, 1]|reverse|list }} {{ 'abc'|list }} {{ d.keys()|list }} {{ d.values()|list }} {{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.get('a') }}",
    "{{ [{'r': 'u'}, {'r': 'a'}]|selectattr('r', 'equalto', 'u')|list }} {{ [{'r': 'u'}, {}]|rejectattr('r')|list }} {{ [{'r': 'u'}]|map(attribute='r')|join }} {{ [0, 1]|select|list }} {{ ['a', 'B']|map('upper')|list }} {{ [1, 2]|reject('in', [2])|list }}",
    "{{ 1 is number }} {{ true is number }} {{ 'a' is string }} {{ d is mapping }} {{ [] is iterable }} {{ 'a' is iterable }} {{ 1 is iterable }} {{ none is none }} {{ 1 is not none }} {{ 1 is integer }} {{ true is integer }} {{ 1.0 is float }} {{ true is boolean }} {{ d is sequence }} {{ true is true }} {{ 1 is true }} {{ 1 is eq 1 }} {{ 1 is eq(2) }} {{ 1 is in [1] }}",
    "{{ 'yes' if 1 else 'no' }}{{ 'yes' if 0 }}{{ 'a' if 0 else 'b' if 0 else 'c' }}", "{{ 0 or 'x' }} {{ '' and 'x' }} {{ 1 and 'y' }} {{ not '' }} {{ not not 1 }} {{ not 1 == 2 }}", "{% if 0 %}a{% elif 0 %}b{% elif 1 %}c{% else %}d{% endif %}",
    "{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(2, 4) %}{{ i }}{% endfor %}", "{{ raise_exception('no') }}", "{% if false %}{{ raise_exception('no') }}{% endif %}ok", "{{ strftime_now is defined }}", "{{ 'a' 'b' }} {{ \"\\u00e9\\x41\\\\\\q\" }}",
    "{{ d.a.b }} {{ d['a']['b'][1] }} {{ d.a['b'][-1] }} {{ d.l[0] }} {{ loop is defined }}", "{{ -1 | string }} {{ (-1) | string }} {{ 'a' | upper ~ 'b' }} {{ 'abc' | length + 1 }} {{ not 'a' | length == 2 }}", "{% for a in [[1, 2], [3, 4]] %}{% for b in a %}{{ loop.index }}{{ b }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% set a = [1] + [2] %}{{ a }}{{ a|length }}", "{{ True }} {{ False }} {{ None }} {{ true and none }}", "{{ 1 if true }}{% set q = 'x' if u is defined else 'y' %}{{ q }}", "{% if u is defined and u.x %}1{% else %}2{% endif %}", "{% for x in u %}a{% endfor %}b", "{% for x in 5 %}a{% endfor %}", "{% for x in none %}a{% endfor %}",
]


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def render(template, variables):
    row = {"template": template, "variables": variables}
    try:
        row["expected"] = environment().from_string(template).render(**variables)
    except (jinja2.exceptions.TemplateError, TypeError, ZeroDivisionError, AttributeError):
        row["error"] = True
    return row


def main():
    rows = []
    for name, template in FAMILIES.items():
        for messages in CONVERSATIONS:
            for extra in ({}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "tools": [TOOL], "enable_thinking": False}):
                row = render(template, {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", **extra})
                row["family"] = name
                del row["template"]
                rows.append(row)
    data = {"a": {"b": [1, 2]}, "l": ["x"], "t": "té"}
    snippets = [render(snippet, {"d": data}) for snippet in SNIPPETS]
    with open(os.path.join(HERE, "chat_templates.json"), "w", encoding="utf-8") as out:
        json.dump({"templates": FAMILIES, "conversations": rows, "snippets": snippets}, out, ensure_ascii=False, indent=0)
        out.write("\n")
    errors = sum("error" in row for row in rows), sum("error" in row for row in snippets)
    print(len(rows), len(snippets), "errors", errors)


if __name__ == "__main__":
    main()
