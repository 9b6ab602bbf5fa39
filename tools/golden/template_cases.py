"""The inputs of make_templates.py: conversations, and snippets of the template
language. Data only."""

SPECIAL_TOKENS = {
    "bos_token": "<|begin|>",
    "eos_token": "<|end|>",
    "pad_token": "<|pad|>",
    "unk_token": "<unk>",
}

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather <now> & \"later\" / tomorrow",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Größe, 東京"},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "days": {"type": "integer", "default": 1, "maximum": 7.5},
            },
            "required": ["city"],
        },
    },
}
CLOCK = {
    "type": "function",
    "function": {
        "name": "clock",
        "description": "The time.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, identifier="call12345"):
    return {"id": identifier, "type": "function",
            "function": {"name": name, "arguments": arguments}}


def result(content, identifier="call12345", name="get_weather"):
    return {"role": "tool", "tool_call_id": identifier, "name": name,
            "content": content}


ONE_CALL = [
    user("Weather in Paris?"),
    assistant("", tool_calls=[call("get_weather", {"city": "Paris", "days": 2})]),
    result('{"temp": 21.5, "sky": "clear"}'),
]
TWO_CALLS = [
    system("Use tools."),
    user("Paris and Rome?"),
    assistant(None, tool_calls=[
        call("get_weather", {"city": "Paris", "opts": {"a": [1, None, True]}},
             "call00001"),
        call("clock", {}, "call00002"),
    ]),
    result("21", "call00001"),
    result("noon", "call00002", "clock"),
    assistant("21 degrees at noon."),
    user("Thanks"),
]


def conversation(name, messages, tools=None, prompt=True, **variables):
    c = {"name": name, "messages": messages, "add_generation_prompt": prompt}
    if tools is not None:
        c["tools"] = tools
    if variables:
        c["variables"] = variables
    return c


CONVERSATIONS = [
    conversation("user", [user("Hello")]),
    conversation("user, no prompt", [user("Hello")], prompt=False),
    conversation("system", [system("Be brief."), user("  Hi \n")]),
    conversation("turns", [
        system("S"), user("1"), assistant("2"), user("3"), assistant(" 4\n"),
        user("5")]),
    conversation("turns, no prompt", [
        user("1"), assistant("2"), user("3"), assistant("4")], prompt=False),
    conversation("unicode", [
        user("Grüße, 東京 🙂 e\u0301\u00a0\u2028 ИЖ <|im_end|> {{ x }} {% y %}")]),
    conversation("empty content", [system(""), user(""), assistant(""),
                                   user("x")]),
    conversation("null content", [user("x"), assistant(None), user("y")]),
    conversation("content parts", [
        {"role": "user", "content": [
            {"type": "text", "text": "Part one. "},
            {"type": "text", "text": "Part <|im_start|> two."}]},
        assistant("ok"), user("next")]),
    conversation("tools", [user("Weather in Paris?")], [WEATHER]),
    conversation("two tools, system", [system("Help."), user("Time?")],
                 [WEATHER, CLOCK]),
    conversation("tool call", ONE_CALL, [WEATHER]),
    conversation("tool call, then text", ONE_CALL + [assistant("Sunny."),
                                                     user("And Rome?")],
                 [WEATHER]),
    conversation("two calls", TWO_CALLS, [WEATHER, CLOCK]),
    conversation("text beside a call", [
        user("w"), assistant("Let me look.", tool_calls=[
            call("get_weather", {"city": "Oslo"})]), result("5")], [WEATHER]),
    conversation("call with text arguments", [
        user("w"), assistant("", tool_calls=[
            call("get_weather", '{"city": "Oslo"}')]), result("5")]),
    conversation("reasoning", [
        user("2+2?"), assistant("4", reasoning_content="Two and two."),
        user("3+3?")]),
    conversation("reasoning as thinking, null others", [
        user("2+2?"), assistant("4", thinking="T", reasoning_content=None,
                                tool_calls=None), user("3+3?")]),
    conversation("reasoning in the text", [
        user("2+2?"), assistant("<think>\nhm\n</think>\n\n4"), user("3+3?"),
        assistant("<think>\nwell\n</think>\n\n6")], prompt=False),
    conversation("reasoning and a call", [
        user("w"), assistant("", reasoning="look it up", tool_calls=[
            call("get_weather", {"city": "Oslo"})]), result("5")], [WEATHER]),
    conversation("thinking on", [user("Hi")], enable_thinking=True),
    conversation("thinking off", [user("Hi")], enable_thinking=False),
    conversation("thinking off, tools", ONE_CALL, [WEATHER],
                 enable_thinking=False, thinking=False),
    conversation("kwargs", [system("S"), user("Hi")], thinking=True,
                 reasoning_effort="high", date_string="01 Jan 2025",
                 model_identity="You are X.", builtin_tools=["python"],
                 xml_tools=[], python_tools=[]),
    conversation("no messages", []),
    conversation("system only", [system("S")]),
    conversation("system late", [user("a"), system("S"), user("b")]),
    conversation("two users", [user("a"), user("b")]),
    conversation("unknown role", [{"role": "narrator", "content": "x"}]),
    conversation("developer", [{"role": "developer", "content": "D"},
                               user("x")]),
]

ITEMS = {"xs": [3, 1, 2], "names": ["bo", "Al", "cy"], "s": "Hello World",
         "d": {"b": 1, "A": 2, "items": "own", "c": None},
         "rows": [{"n": "x", "v": 2, "t": {"k": 1}}, {"n": "y", "v": 1},
                  {"n": "X", "v": 2, "t": {"k": 0}}],
         "u": "Grüße 東京 ß", "f": 1.5, "i": 7, "t": True, "z": None,
         "e": [], "nested": {"a": {"b": [1, [2, {"c": "x\n'\"é"}]]}}}


def with_items(*sources):
    return [(s, ITEMS) for s in sources]


# Sources alone, or (source, variables).
SNIPPETS = [
    # Printing and literals.
    "{{ none }} {{ None }} {{ true }} {{ False }} {{ 1 }} {{ 1.0 }}",
    "{{ 1e16 }} {{ 1e15 }} {{ 1e-4 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 1.5e300 }}",
    "{{ 100000000000000000.0 }} {{ 123456789012345680.0 }} {{ 5e-324 }}",
    "{{ -0.0 }} {{ 1e400 }} {{ -1e400 }} {{ 3.0e2 }} {{ 1_000 }} {{ 1_0.5_0 }}",
    "{{ 0x1F }} {{ 0o17 }} {{ 0b101 }} {{ 007 }}",
    "{{ 0x1F }} {{ 0o17 }} {{ 0b101 }}",
    "{{ [] }} {{ {} }} {{ () }} {{ (1,) }} {{ (1, 2) }} {{ [1, 'a', none] }}",
    "{{ {'a': 1, 2: [true], none: 1.5} }} {{ [1,] }} {{ {'a': 1,} }}",
    "{{ 'it\\'s' }} {{ \"say \\\"x\\\"\" }} {{ ['it\\'s', 'a\"b', 'a\\'\"b'] }}",
    "{{ 'a\\nb\\tc\\\\d' }} {{ '\\x41\\u00e9\\U0001F600' }} {{ '\\q\\d' }} {{ '\\101' }}",
    "{{ ['\\n\\t\\r\\\\', '\\x00\\x1f\\x7f', 'é東', '\\u00a0\\u200b\\u2028'] }}",
    "{{ 'a' 'b' \"c\" }} {{ 'x' ~ 'y' 'z' }}",
    "{{ 1, 2 }} {{ 'a', }}", "{{ (1) }} {{ ((1)) }} {{ (1, (2, 3)) }}",
    "{{ 9223372036854775807 }} {{ -9223372036854775807 }}",
    "{{ '' }}|{{ ' ' }}|{{ \"\" }}", "{{ 'a\nb' }}", "{{ 'a}}b' }} {{ '{%' }}",
    "{{ {'a': {'b': 1}} }}", "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{{ range(3) }} {{ range(1, 5, 2) }} {{ range(3)|list }} {{ range(5, 0, -2)|list }}",
    "{{ range(0) }} {{ range(3)[1] }} {{ range(9)[2:5] }} {{ range(3)|length }}",
    "{{ range(1, 2, 0) }}", "{{ range(100001) }}", "{{ range(100000)|length }}",
    "{{ dict(a=1, b='x') }} {{ dict({'a': 1}, b=2) }} {{ dict([('k', 1)]) }}",
    # Operators and precedence.
    "{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }}",
    "{{ 7 / 2 }} {{ 6 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}",
    "{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 1e308 * 10 }} {{ 2 ** 0.5 }}",
    "{{ 1 ~ 2 * 3 }} {{ 1 ~ 2 + 3 }}", "{{ 1 ~ 2 ~ none ~ true ~ 1.0 ~ [1] }}",
    "{{ 1 - 1 ~ 2 }}", "{{ -1|abs }} {{ (-1)|abs }} {{ - 1 }} {{ +1 }} {{ --1 }}",
    "{{ not true }} {{ not not 1 }} {{ not 0 == 1 }} {{ not (0 == 1) }}",
    "{{ 1 and 2 }} {{ 0 and 2 }} {{ 0 or 'x' }} {{ 1 or 2 }} {{ '' or none }} {{ 0 or [] }}",
    "{{ true or false and false }} {{ (true or false) and false }} {{ not true or true }}",
    "{{ 1 if true else 2 }} {{ 1 if false else 2 }} [{{ 1 if false }}] {{ 1 if 0 else 2 if 0 else 3 }}",
    "{{ 'a' if true }} {{ ('a' if false) is defined }}",
    "{{ 1 == 1.0 }} {{ 1 == true }} {{ 0 == false }} {{ '1' == 1 }} {{ none == none }} {{ none == false }}",
    "{{ [1, 2] == [1, 2] }} {{ (1, 2) == [1, 2] }} {{ {'a': 1} == {'a': 1.0} }} {{ [] == () }}",
    "{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ 'a' != 'b' }} {{ [1] != [1] }}",
    "{{ 1 < 2 }} {{ 2 <= 2 }} {{ 3 > 4 }} {{ 4 >= 4 }} {{ 'a' < 'b' }} {{ 'B' < 'a' }} {{ [1, 2] < [1, 3] }}",
    "{{ (1, 2) < (1, 2, 0) }} {{ 1 < 1.5 }} {{ true < 2 }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1 == 1 }} {{ 3 > 2 > 1 }} {{ 1 < 2 == 2 }}",
    "{{ 1 in [1, 2] }} {{ 'a' in 'cat' }} {{ 'x' not in 'cat' }} {{ 'a' in {'a': 1} }} {{ 1.0 in [1] }} {{ '' in '' }}",
    "{{ 1 in [1] in [true] }}", "{{ 'a' in ['b'] or 'c' in 'c' }}", "{{ not 'a' in 'b' }}",
    "{{ 1 in 'a' }}", "{{ 'a' in 1 }}", "{{ 'a' in none }}", "{{ [] in {} }}",
    "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ 'a' + none }}", "{{ [1] + 'a' }}", "{{ none + 1 }}",
    "{{ [1] + [2] }} {{ (1,) + (2,) }} {{ 'a' + 'b' }} {{ true + 1 }}", "{{ [1] + (2,) }}",
    "{{ {} + {} }}", "{{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ [1] * 2 }} {{ 'a' * 0 }}|{{ 'a' * -1 }}", "{{ 'a' * 'b' }}",
    "{{ 1 - 'a' }}", "{{ 'a' - 'b' }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}",
    "{{ 1.0 // 0 }}", "{{ 1.0 % 0 }}", "{{ 0 ** -1 }}",
    "{{ 1 < 'a' }}", "{{ 'a' > 1 }}", "{{ none < 1 }}", "{{ [] >= {} }}", "{{ {} <= {} }}", "{{ -'a' }}", "{{ +'a' }}",
    "{{ 'x is %s, %d, %5.2f|%-5s|%05d|%x|%r|%%' % ('a', 3, 2.5, 'ab', 42, 255, 'q') }}",
    "{{ '%s' % 'a' }} {{ '%(a)s-%(b)d' % {'a': 'x', 'b': 2} }} {{ '%s' % [1] }} {{ '%+d %e %g' % (5, 12345.678, 0.0001) }}",
    "{{ '%s %s' % 'a' }}", "{{ '%s' % ('a', 'b') }}", "{{ '%d' % 'a' }}", "{{ '%z' % 1 }}",
    # Tests.
    "{{ 1 is number }} {{ true is number }} {{ 1.5 is float }} {{ 1 is integer }} {{ true is integer }} {{ true is boolean }} {{ 1 is boolean }}",
    "{{ 'a' is string }} {{ 'a' is sequence }} {{ 'a' is iterable }} {{ 'a' is mapping }} {{ {} is mapping }} {{ {} is sequence }} {{ {} is iterable }}",
    "{{ [] is sequence }} {{ () is sequence }} {{ range(2) is sequence }} {{ none is none }} {{ none is iterable }} {{ 1 is iterable }} {{ none is sequence }}",
    "{{ x is defined }} {{ x is undefined }} {{ x is none }} {{ x is string }} {{ x is iterable }} {{ x is sequence }} {{ x is mapping }} {{ x is number }} {{ x is boolean }} {{ x is true }} {{ x is false }}",
    "{{ none is defined }} {{ none is undefined }} {{ 1 is true }} {{ true is true }} {{ false is false }} {{ 0 is false }}",
    "{{ 3 is odd }} {{ 4 is even }} {{ 3 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }}",
    "{{ 1 is eq 1 }} {{ 1 is equalto(2) }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is gt 2 }} {{ 1 is ge 1 }} {{ 1 is le 0 }} {{ 1 is in [1] }} {{ 'a' is in 'b' }}",
    "{{ 1 is sameas 1 }} {{ none is sameas none }} {{ true is sameas 1 }} {{ range is callable }} {{ 1 is callable }}",
    "{{ 'ab' is lower }} {{ 'AB' is upper }} {{ 'aB' is lower }} {{ '1' is lower }}",
    "{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }}",
    "{{ not 'a' is string }} {{ 'a' is not string }} {{ 1 is not none and true }} {{ 1 is string or 2 }}",
    "{{ 1 is string == false }}", "{{ 2 * 3 is number }}", "{{ 'a' ~ 1 is string }}", "{{ 1 + 1 is odd }}",
    "{{ 1 if x is defined else 2 }} {{ 1 if x is not defined else 2 }}",
    "{{ x is defined and x }} {{ x is undefined or x.y }}", "{{ 1 is defined is defined }}",
    "{{ 'a' is odd }}", "{{ 'a' % [] }}{{ 'a' % x }}{{ 'a' % {} }}", "{{ 'a' % ('b',) }}", "{{ x is odd }}", "{% if 1 %}{% else %}{{ 1 is nope }}{% endif %}ok",
    # Undefined.
    "[{{ x }}] [{{ x ~ 'a' }}] {{ x or 'd' }} {{ x and 1 }} {{ not x }} {{ x == y }} {{ x == none }} {{ x != 1 }} {{ 1 == x }}",
    "{% for a in x %}{{ a }}{% else %}none{% endfor %} {{ x|length }} {{ 1 in x }} {{ x|list }} {{ x in [1] }}",
    "[{{ x|trim }}] [{{ x|lower }}] [{{ x|join(',') }}] [{{ x|upper }}] [{{ x|string }}] [{{ x|first }}] [{{ x|items|list }}] [{{ x|default('d') }}]",
    "{{ x.y }}", "{{ x['y'] }}", "{{ x[0] }}", "{{ x[1:] }}", "{{ x() }}", "{{ x + 1 }}", "{{ 1 + x }}", "{{ 'a' + x }}", "{{ x - 1 }}", "{{ -x }}",
    "{{ x < 1 }}", "{{ 1 > x }}", "{{ x|tojson }}", "{{ [x]|tojson }}", "{{ x|int }}", "{{ x|abs }}", "{{ x|round }}", "{{ x % 2 }}", "{{ x * 2 }}",
    "{{ {'a': 1}.b }}|{{ {'a': 1}['b'] }}|{{ [1][5] }}|{{ [1][-5] }}|{{ 'ab'[9] }}|{{ none.x }}|{{ (1).x }}|{{ [1].x }}|{{ [1]['x'] }}",
    "{{ {'a': 1}.b.c }}", "{{ [1][5].c }}", "{{ none.x.y }}", "{{ 'a'.nope.x }}", "{{ none[0] }}|{{ 1[0] }}", "{{ none.x() }}", "{{ 'a'.nope() }}",
    "{{ {'a': 1}[[1]] is undefined }}", "{{ [x] }} {{ {'a': x} }}",
    "{{ x.y is defined }}", "{{ {}.y is defined }} {{ {}.y.z is defined }}", "{{ {} .get('a').b is defined }}",
    "{{ x|default }}|{{ x|default('a') }}|{{ none|default('a') }}|{{ ''|default('a') }}|{{ ''|default('a', true) }}|{{ none|default('a', boolean=true) }}|{{ 0|d(5, true) }}|{{ x|d }}",
    "{{ none|length }}", "{% for a in none %}{% endfor %}", "{% for a in 1 %}{% endfor %}", "{{ 1|length }}", "{{ none|trim }} {{ none|upper }} {{ none|string }}", "{{ none|list }}", "{{ none|join }}", "{{ none|items|list }}",
    "{{ none|first }}", "{{ [] | first is defined }} {{ []|last is undefined }} {{ []|min is defined }}", "{{ 1() }}", "{{ 'a'() }}", "{{ none() }}",
    "{{ undefined }}", "{{ loop }}", "{{ loop.index }}", "{{ caller }}", "{{ caller() }}",
    "{{ raise_exception('boom') }}", "{{ raise_exception('a' ~ 1) }}", "{{ raise_exception(none) }}", "{{ raise_exception() }}", "{{ raise_exception(x) }}",
    # Statements and scoping.
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}",
    "{% for i in [1, 2] %}{% set y = i %}{% endfor %}[{{ y }}]", "{% for i in [1, 2] %}{% set i = i * 10 %}{{ i }} {% endfor %}[{{ i }}]",
    "{% for i in [1] %}{% if true %}{% set y = 5 %}{% endif %}{{ y }}{% endfor %}[{{ y }}]",
    "{% for i in [1, 2, 3] %}{% if loop.first %}{% set y = 5 %}{% endif %}[{{ y }}]{% endfor %}",
    "{% set ns = namespace(a=1, b=[]) %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% set ns.b = ns.b + [i] %}{% endfor %}{{ ns.a }} {{ ns.b }} {{ ns['a'] }} [{{ ns.zz }}]",
    "{% set ns = namespace() %}{% set ns.x = 1 %}{{ ns.x }}", "{% set ns = namespace({'a': 1}) %}{{ ns.a }}", "{% set a = {} %}{% set a.b = 1 %}", "{% set q.b = 1 %}", "{% set ns = namespace() %}{% set ns._x = 1 %}", "{{ namespace(_a=1) }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set (a, b) = (1, 2) %}{{ a }}{{ b }}", "{% set a, b = [1, 2, 3] %}", "{% set a, b = [1] %}", "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", "{% set a, b = 'xy' %}{{ b }}{{ a }}", "{% set a = 1, 2 %}{{ a }}",
    "{% set x %}a{{ 1 + 1 }}b{% endset %}{{ x }} {{ x|length }} {{ x is string }}", "{% set x | upper %}abc{% endset %}{{ x }}", "{% set x | replace('a', 'b') | trim %} aa {% endset %}[{{ x }}]",
    "{% set x %}{% set y = 1 %}{% endset %}[{{ y }}]", "{% set ns = namespace() %}{% set ns.t %}body{% endset %}{{ ns.t }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}[{{ a }}{{ c }}]", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set a = 1 %}{{ a }}{% endwith %}",
    "{% filter upper %}a{{ 'b' }}{% endfilter %}", "{% filter replace('a', 'x')|upper %}banana{% endfilter %}",
    "{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}{% if '' %}x{% endif %}", "{% if [] %}a{% else %}b{% endif %}{% if [0] %}a{% endif %}{% if {} %}a{% else %}b{% endif %}{% if 0.0 %}a{% else %}b{% endif %}",
    "{% generation %}a{% set y = 2 %}{{ y }}{% endgeneration %}[{{ y }}]", "{% for i in [1] %}{% generation %}{{ i }}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "{% raw %}{{ x }} {% if %}{% endraw %}", "{%- raw -%} {{ x }} {%- endraw -%} y", "a\n  {% raw %}\n b {% endraw %}\nc", "{# {{ x }} #}a{# b\nc #}d", "{##}", "{#- a -#}  b",
    # Loops.
    "{% for i in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}",
    "{% for i in 'abc' %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.previtem is defined }} {{ loop.nextitem is undefined }};{% endfor %}", "{% for i in [1, 2, 3, 4] %}{{ loop.cycle('a', 'b', 'c') }}{% endfor %}",
    "{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }} {% endfor %}", "{% for i in [1, 2, 3, 4] if i % 2 == 0 %}{{ i }}:{{ loop.index }}/{{ loop.length }} {% endfor %}", "{% for i in [1, 3] if i > 5 %}x{% else %}empty{% endfor %}",
    "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}-{{ b }} {% endfor %}", "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}={{ b }} {% endfor %}", "{% for k in {'x': 1, 'y': 2} %}{{ k }}{% endfor %}", "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [1] %}{% endfor %}",
    "{% for i in [1, 2, 3, 4] %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in [1, 2, 3, 4] %}{% if i == 3 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "{% for i in [1] %}{% break %}{% else %}else{% endfor %}", "{% for i in [1, 2] %}{% for j in [1, 2] %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }}{% endfor %}.{% endfor %}",
    "{% for i in [1, 2] %}{% set outer = loop %}{% for j in [1, 2] %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}", "{% for i in [[1, [2]], [3]] recursive %}{{ loop.depth }}:{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}{% endif %} {% endfor %}",
    "{% for i in [1, 2] %}{{ loop(1) }}{% endfor %}", "{% for i in 1, 2, 3 %}{{ i }}{% endfor %}", "{% for i in range(3) %}{{ i }}{% endfor %}", "{% for i in [] %}{% else %}{{ loop is defined }}{% endfor %}", "{% for i in [1, 2, 3]|reverse %}{{ loop.length }}{{ loop.last }}{{ i }}{% endfor %}", "{% for x in [1, 2][::-1] %}{{ x }}{% endfor %}", "{% for loop in [1] %}{{ loop }}{% endfor %}",
    # Macros.
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=1, a=2) }} [{{ m() }}] {{ m(1)|upper }} {{ m(1) is string }} {{ m.name }}",
    "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(1) }}{{ m(none) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(3) }}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m() %}{{ x }}{% endmacro %}{% set x = 5 %}{{ m() }}{% set x = 6 %}{{ m() }}", "{% macro m() %}{% set x = 9 %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{{ x }}", "{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}in{% endcall %}", "{% macro each(xs) %}{% for x in xs %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(v) each([1, 2]) %}<{{ v }}>{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{% call m(1) %}x{% endcall %}",
    "{% macro m() %}  a  {%- endmacro %}[{{ m() }}]", "{% macro m(x) -%}\n  {{ x }}\n{%- endmacro %}[{{ m('q') }}]", "{% macro m(*a) %}{% endmacro %}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}", "{% if true %}{% macro m() %}M{% endmacro %}{% endif %}{{ m() }}", "{{ m }}{% macro m() %}{% endmacro %}", "{% macro m() %}{{ loop.index }}{% endmacro %}{% for i in [1] %}{{ m() }}{% endfor %}",
    # Whitespace.
    "a\n{% if true %}\nb\n{% endif %}\nc", "a\n  {% if true %}  \n  b\n  {% endif %}\nc", "a {%- if true -%} b {%- endif -%} c", "a\n\n {{- 'x' -}} \n\nb", "a\n {{ 'x' }}\nb", "a\n  {#- c -#}\n b", "a\n  {# c #}\nb", "a\n  {# c #} \nb", "  {% if true %}x{% endif %}", "  {{ 1 }}", "\n{% if true %}x{% endif %}\n\n", "x\n", "x\n\n", "{{ 'x' }}\n", "{% if true %}\n\nx{% endif %}", "a\n\t {% set x = 1 %}\n\t b", "a {% set x = 1 %}\nb", "a  {%+ if true %}b{% endif %}", "a\n  {%+ if true %}b{% endif %}", "a\n{% if true +%}\nb{% endif %}", "a\r\n{% if true %}\r\nb{% endif %}\r\n", "a\rb", "{%- if true -%}\n\n  x  \n\n{%- endif -%}", "x{{- ' y ' -}}z", "{{ 1 -}}\n{{ 2 }}", "{%if true%}x{%endif%}", "{{1}}{{'a'}}", "{{-1}}", "{{ -1 }}", "{{- -1 }}", "{{+1}}",
    "a\n {% if true %} {% endif %} \nb", "{% for i in [1,2] %}\n  {{ i }}\n{% endfor %}\n", "{% for i in [1,2] -%}\n  {{ i }}\n{%- endfor %}\n", "{#- x #}\n\n y", "a {#+ x #}\nb", "a\n  {#+ x +#}\nb", "\u00a0{%- if true %}x{% endif %}", "a\u2003\n{%- if true %}b{% endif %}", "a\n\u00a0{% if true %}b{% endif %}", "{ {% if true %}a{% endif %} } {", "{ { x }", "}} %} #}", "a{{ '\n' }}b", "{{ 'a' }}{{ '\n' }}", "x {{ 1 }} {% if true %} y {% endif %} z", "a\n  {% if true %}{{ 1 }}{% endif %}\n  {% if true %}\nb{% endif %}",
    # Filters.
    *with_items(
        "{{ xs|sort }} {{ xs|sort(reverse=true) }} {{ names|sort }} {{ names|sort(case_sensitive=true) }} {{ rows|sort(attribute='v')|map(attribute='n')|list }} {{ rows|sort(attribute='v,n')|map(attribute='n')|list }}",
        "{{ xs|min }} {{ xs|max }} {{ xs|sum }} {{ names|max }} {{ rows|sum('v') }} {{ rows|max(attribute='v') }} {{ xs|sum(start=10) }} {{ [[1], [2]]|sum(start=[]) }}", "{{ names|sum }}",
        "{{ names|join }} {{ names|join(', ') }} {{ rows|join('-', attribute='n') }} {{ [1, none, 2.5, true]|join('|') }} {{ 'abc'|join('.') }} {{ xs|join(1) }}",
        "{{ xs|first }} {{ xs|last }} {{ s|first }} {{ s|last }} {{ d|first }} {{ d|length }} {{ s|length }} {{ u|length }} {{ xs|count }}",
        "{{ s|upper }} {{ s|lower }} {{ u|upper }} {{ u|lower }} {{ 'hELLO wORLD'|capitalize }} {{ 'hello-world foo (bar) o\\'neil'|title }} {{ 'ǆ ÉÀ'|lower }} {{ 'straße'|capitalize }} {{ 'İ'|lower|length }}",
        "[{{ '  a b \n'|trim }}] [{{ 'xxaxx'|trim('x') }}] [{{ '\u2003a\u00a0'|trim }}] [{{ 'xyaz'|trim(chars='xyz') }}]",
        "{{ s|replace('o', '0') }} {{ s|replace('o', '0', 1) }} {{ s|replace('l', '') }} {{ 'aaa'|replace('', '-') }} {{ 12|replace(1, 'x') }} {{ 'aaaa'|replace('aa', 'b') }}",
        "{{ s|reverse }} {{ xs|reverse|list }} {{ u|reverse }} {{ (1, 2)|reverse|list }}", "{{ xs|list }} {{ s|list }} {{ d|list }} {{ range(3)|list }}",
        "{{ d|dictsort }} {{ d|dictsort(true) }} {{ d|dictsort(reverse=true) }} {{ {'a': 2, 'b': 1}|dictsort(by='value') }} {{ {'a': 2, 'b': 1}|dictsort(false, 'value') }}", "{{ d|dictsort(by='x') }}", "{{ xs|dictsort }}",
        "{{ d|items|list }}", "{% for k, v in d|items %}{{ k }}:{{ v }};{% endfor %}", "{{ xs|items|list }}",
        "{{ rows|map(attribute='n')|list }} {{ names|map('upper')|list }} {{ rows|map(attribute='t.k', default=9)|list }} {{ xs|map('string')|list }} {{ ['a b']|map('replace', ' ', '_')|list }} {{ [[1, 2]]|map(attribute=0)|list }} {{ [[1, 2]]|map('join', '-')|list }} {{ rows|map(attribute='q')|list }}", "{{ xs|map|list }}", "{{ xs|map('nope')|list }}",
        "{{ xs|select('odd')|list }} {{ xs|reject('odd')|list }} {{ [0, 1, '']|select|list }} {{ [0, 1, '']|reject|list }} {{ xs|select('gt', 1)|list }} {{ xs|select('in', [1, 2])|list }} {{ xs|reject('equalto', 1)|list }}",
        "{{ rows|selectattr('t')|map(attribute='n')|list }} {{ rows|selectattr('t', 'defined')|list|length }} {{ rows|rejectattr('t', 'defined')|map(attribute='n')|list }} {{ rows|selectattr('v', 'equalto', 2)|map(attribute='n')|join }} {{ rows|selectattr('t.k', 'eq', 1)|list|length }} {{ rows|selectattr('n', '==', 'x')|list|length }}", "{{ rows|selectattr('t.k', 'eq', 1)|list }}", "{{ rows|map(attribute='z.q')|list }}",
        "{{ xs|select('nope')|list }}", "{{ (xs|select('odd')) is sequence }} {{ (xs|select('odd')) is iterable }} {% if e|select %}true{% endif %}", "{{ (xs|select('odd'))|length }}", "{% set g = xs|select('odd') %}{{ g|list }}{{ g|list }}", "{{ (xs|select('odd'))[0] is defined }}", "{{ (xs|select('odd')|list)[0] }}",
        "{{ names|unique|list }} {{ ['a', 'A', 'b', 'a']|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ rows|unique(attribute='v')|map(attribute='n')|list }}", "{{ [1, 1.0, true, 2]|unique|list }}",
        "{{ rows|groupby('v')|length }} {% for k, v in rows|groupby('v') %}{{ k }}={{ v|map(attribute='n')|join(',') }};{% endfor %}{% for k, v in rows|groupby('n') %}{{ k }}{{ v|length }}{% endfor %}",
        "{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, 0)|list }} {{ [1, 2, 3, 4, 5]|slice(2)|list }} {{ [1, 2, 3, 4, 5]|slice(3, 'x')|list }} {{ []|batch(2)|list }}",
        "{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(1, blank=true) }}|{{ 'a\nb'|indent('> ') }}|{{ 'a\nb\n'|indent(2) }}|{{ ''|indent }}|{{ 'a'|indent(first=true) }}",
        "{{ '42'|int }} {{ 'x'|int }} {{ 'x'|int(5) }} {{ '3.7'|int }} {{ 3.9|int }} {{ -3.9|int }} {{ (-3.9)|int }} {{ '0x1f'|int(0, 16) }} {{ '1f'|int(base=16) }} {{ ' 12 '|int }} {{ none|int }} {{ true|int }} {{ '1_000'|int }} {{ '-5'|int }} {{ []|int(7) }} {{ '1e3'|int }}",
        "{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2.5) }} {{ 3|float }} {{ '1e3'|float }} {{ none|float }} {{ ' 2 '|float }} {{ 'inf'|float }} {{ 'nan'|float }}",
        "{{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(method='floor') }} {{ 42|round }} {{ 2.675|round(2) }} {{ 1234|round(-2) }} {{ 1250.0|round(-2) }} {{ 42.55|round(1, 'floor') }}",
        "{{ -5|abs }} {{ (-5)|abs }} {{ (-5.5)|abs }}", "{{ 'a'|abs }}", "{{ 'hello big world'|wordcount }} {{ ''|wordcount }} {{ 'a-b c_d'|wordcount }}", "{{ 'hello big world'|truncate(9) }} {{ 'hello big world'|truncate(9, true) }} {{ 'hello big world'|truncate(11, false, '!', 0) }} {{ 'short'|truncate(5) }} {{ 'hello big world'|truncate(9, leeway=10) }}", "[{{ 'ab'|center(6) }}] [{{ 'abc'|center(6) }}]",
        "{{ '%s-%s'|format('a', 1) }} {{ '%(x)s'|format(x=2) }}", "{{ 'a b/c?é&'|urlencode }} {{ {'a b': 'c/d', 'e': 1}|urlencode }} {{ [('x', 'y')]|urlencode }}", "{{ '<a href=\"x\">\\'&'|e }} {{ '<b>'|escape }} {{ '<b>'|safe }} {{ '<b>'|safe|e }} {{ '<b>'|safe|forceescape }} {{ 1|e }}", "{{ ('<b>'|safe) + '<i>' }} {{ '<i>' + ('<b>'|safe) }} {{ ('<b>'|safe) ~ '<i>' }} {{ ('<b>'|e) ~ '<' }} {{ '<'|safe is escaped }} {{ '<' is escaped }}", "{{ [1, 2]|string }} {{ none|string|length }} {{ 1.0|string + 'x' }}", "{{ d|attr('items') is callable }} {{ d|attr('b') is defined }} {{ rows[0]|attr('n') is defined }}",
        "{{ nested|tojson }} {{ u|tojson }} {{ z|tojson }} {{ t|tojson }} {{ f|tojson }} {{ xs|tojson }} {{ '</>&\\''|tojson }} {{ [1e16, 1e-7, 1.0, -0.0, 1e22]|tojson }} {{ (1, 2)|tojson }} {{ {}|tojson }} {{ []|tojson }}",
        "{{ nested|tojson(indent=2) }}", "{{ {'a': [], 'b': {}, 'c': [1]}|tojson(indent=4) }}", "{{ d|tojson(indent=0) }}", "{{ d|tojson(indent='--') }}", "{{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ u|tojson(ensure_ascii=true) }} {{ '\\U0001F600'|tojson(ensure_ascii=true) }} {{ '\\x7f\\x00\\x1f\\b\\f\\r\\n\\t\"\\\\'|tojson }} {{ '\\x7f'|tojson(true) }}", "{{ {1: 2, none: 3, true: 4, 1.5: 6}|tojson }}", "{{ {(1, 2): 3}|tojson }}", "{{ range|tojson }}", "{{ (xs|select)|tojson }}", "{{ d.items()|tojson }}", "{{ d|items|tojson }}", "{{ range(2)|tojson }}", "{{ d|tojson(2, 3, 4, 5, 6) }}", "{{ d|tojson(nope=1) }}",
        # Access, slices, methods.
        "{{ d.b }} {{ d['b'] }} {{ d['items'] }} {{ d.items is callable }} {{ d.get('items') }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d.get('c', 5) }} {{ d.keys() }} {{ d.values()|list }} {{ d.items()|list }}", "{{ d.items() }} {{ d.values() }}", "{{ d.keys()|list }} {{ d.keys()|length }} {{ 'b' in d.keys() }} {{ d.items()|length }}", "{{ d.items()[0] is defined }}", "{{ d.get() }}", "{{ d.get(key='b') }}", "{{ d.copy() == d }}",
        "{{ nested.a.b[1][1].c }} {{ nested['a']['b'][0] }} {{ nested.a['b'][-1] }} {{ nested.a.b.0 }} {{ nested.a.b[1].0 }}", "{{ xs[0] }} {{ xs[-1] }} {{ xs[1:] }} {{ xs[:2] }} {{ xs[::-1] }} {{ xs[::2] }} {{ xs[:-1] }} {{ xs[5:] }} {{ xs[-2:] }} {{ xs[2:0:-1] }} {{ xs[True] }}", "{{ s[0] }} {{ s[-1] }} {{ s[6:] }} {{ s[:5] }} {{ s[::-1] }} {{ s[1:8:3] }} {{ u[2] }} {{ u[3:8] }} {{ u[::-1] }} {{ s[i] }} {{ s[20:] }}|", "{{ xs[::0] }}", "{{ xs['a':] }}", "{{ s[none:2] }}", "{{ (1, 2, 3)[1:] }} {{ (1, 2)[0] }}",
        "{{ xs[1.0] is defined }} {{ xs[none] is defined }} {{ d[none] is defined }} {{ xs[d] is defined }}", "{{ xs.append(4) }}", "{{ xs.append is defined }}", "{{ xs.pop() }}", "{{ d.pop('b') }}", "{{ d.update({}) }}", "{{ xs.__class__ }}", "{{ s.__class__.__name__ }}", "{{ s.__len__() }}", "{{ xs.count(1) }} {{ xs.index(2) }} {{ (1, 1).count(1) }} {{ xs.copy() }}", "{{ xs.nope() }}",
        "{{ s.upper() }} {{ s.lower() }} {{ 'ab cd'.title() }} {{ 'ab'.capitalize() }} {{ 'aB'.swapcase() }} {{ \"they're x1y\".title() }}", "{{ s.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a  b '.split() }} {{ ' a  b '.split(' ') }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a b c'.split(none, 1) }} {{ 'a  b  c'.split(maxsplit=1) }} {{ 'a\u2003b\x1cc'.split() }} {{ 'abc'.split('bc')[-1] }} {{ '</think>a</think>b'.split('</think>', 1) }}", "{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a b'.rsplit() }} {{ 'abc'.rsplit('x') }}", "{{ 'a'.split('') }}", "{{ 'a'.split(1) }}", "{{ 'a\nb\r\nc\rd\n'.splitlines() }} {{ 'a\nb'.splitlines(true) }} {{ ''.splitlines() }}",
        "[{{ '  a '.strip() }}] [{{ '  a '.lstrip() }}] [{{ '  a '.rstrip() }}] [{{ 'xxaxy'.strip('xy') }}] [{{ '\n\na\n'.lstrip('\n') }}] [{{ 'aé'.rstrip('é') }}] [{{ ' a '.strip(none) }}] [{{ '\\u3000a\\u200b'.strip()|length }}] [{{ 'a'.strip('') }}]", "{{ s.startswith('He') }} {{ s.endswith('ld') }} {{ s.startswith(('x', 'H')) }} {{ s.startswith('W', 6) }} {{ s.endswith('') }} {{ s.startswith('World', -5) }} {{ s.endswith('lo', 0, 5) }}", "{{ s.startswith(1) }}", "{{ s.startswith(['H']) }}", "{{ s.replace('o', '0') }} {{ s.replace('o', '0', 1) }} {{ 'aa'.replace('', 'x') }} {{ 'é'.replace('', '-') }} {{ ''.replace('', 'x') }}", "{{ s.replace('o') }}", "{{ s.replace(1, 2) }}", "{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.index('W') }} {{ s.count('l') }} {{ u.find('東') }} {{ s.find('o', 5) }} {{ 'abc'.count('') }} {{ s.rindex('l') }}", "{{ s.index('zz') }}",
        "{{ ','.join(names) }} {{ ''.join([]) }} {{ '-'.join('abc') }}", "{{ ','.join(xs) }}", "{{ '12'.isdigit() }} {{ ''.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ 'é東'.isalpha() }} {{ '1'.isupper() }} {{ '12'.isnumeric() }}", "[{{ 'a'.ljust(3) }}] [{{ 'a'.rjust(3, '*') }}] [{{ 'ab'.center(5, '-') }}] [{{ 'a'.center(4) }}] [{{ '-5'.zfill(4) }}] [{{ 'abc'.zfill(2) }}]", "{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'a'.partition('=') }} {{ 'a'.rpartition('=') }}", "{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.py'.removesuffix('.py') }} {{ 'x'.removesuffix('') }}",
        "{{ '{} {}'.format(1, 'a') }} {{ '{0}{1}{0}'.format(1, 2) }} {{ '{a:>5}|{b:<5}|{c:^5}|'.format(a=1, b='x', c='y') }} {{ '{:.2f} {:5d} {:05d} {:x} {:,} {:+d} {:e} {:%}'.format(1.005, 42, 42, 255, 1234567, 5, 1234.5, 0.25) }} {{ '{{}}'.format() }} {{ '{!r}'.format('a') }} {{ '{d[b]} {x[0]}'.format(d={'b': 1}, x=[5]) }}", "{{ '{}'.format() }}", "{{ '{a}'.format() }}", "{{ '{'.format() }}", "{{ '{:*^9}'.format('mid') }} {{ '{:.3}'.format('abcdef') }} {{ '{x[0]}'.format(x=[5]) }} {{ '{:g} {:.3g}'.format(0.00001, 1234567.0) }} {{ '{}'.format(none) }} {{ '{!r}'.format('a') }}",
        "{{ i is number and f is float }} {{ z is none }} {{ t is true }}", "{{ i + f }} {{ i // 2 }} {{ i ** 2 }} {{ i / 2 }} {{ -i }} {{ t + 1 }} {{ i ~ f ~ t ~ z }}", "{{ i + z }}", "{{ s + i }}", "{{ s ~ i }} {{ s + ' ' + u }}", "{{ nested }} {{ d }} {{ rows }}",
        "{% for r in rows %}{{ r.n }}{{ ',' if not loop.last }}{% endfor %}", "{% for r in rows if r.t is defined %}{{ r.n }}{{ loop.index }}{% endfor %}", "{{ rows[0].n ~ rows[-1]['n'] }} {{ rows|length - 1 }} {{ (rows|length) * 2 }}", "{{ messages }} {{ tools }} {{ documents }} {{ tools is defined }} {{ documents is none }} {{ add_generation_prompt }} {{ bos_token is defined }}",
    ),
    # Malformed.
    "{{", "{{ }}", "{%", "{% %}", "{{ 1", "{% if %}{% endif %}", "{% if true %}", "{% endif %}", "{% for %}{% endfor %}", "{% for i in %}{% endfor %}", "{% for i [1] %}{% endfor %}", "{{ 1 + }}", "{{ (1 }}", "{{ [1 }}", "{{ {1 }}", "{{ 'a }}", "{{ a b }}", "{{ 1 2 }}", "{{ a. }}", "{{ a[ }}", "{{ a| }}", "{{ a is }}", "{{ )}}", "{{ ] }}", "{{ (] }}", "{{ @ }}", "{{ a! }}", "{{ $a }}", "{% nope %}", "{% set %}", "{% set 1 = 2 %}", "{% set true = 2 %}", "{% set a = %}", "{% macro %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{% break %}", "{% continue %}", "{% if true %}{% break %}{% endif %}", "{# a", "{% raw %}a", "{% if true %}{% endfor %}", "{% for i in [1] %}{% endif %}", "a\nb\n{{ 1 + }}", "a\n\n{% if x %}\n\n{% oops %}", "{{ f(a=1, 2) }}", "{{ f(**a, *b) }}", "{{ a if }}", "{{ not }}", "{{ a == }}", "{{ 1 if 2 else }}", "{% else %}", "{% elif x %}", "{% endset %}", "{% do x %}", "{{ , }}", "{% call x %}{% endcall %}", "{% with a %}{% endwith %}", "{{ a.b.c.(d) }}", "{{ 1..2 }}", "{{ ; }}", "{% if a = b %}{% endif %}", "{{ a = b }}", "{% for a.b in [1] %}{% endfor %}", "{% set a.b.c = 1 %}",
]
