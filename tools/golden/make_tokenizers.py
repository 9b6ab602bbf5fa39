"""Makes the golden files of the tokenizer tests under tests/fixtures/tokenizers/.

    python tools/golden/make_tokenizers.py CACHE

Needs the packages `tokenizers`, `gguf` and `regex`; CACHE is the folder that
tools/fetch-model and tools/fetch-test-data fill (~/.cache/vouch).

Three kinds of files come out:
  vocabularies.json    ids of nasty strings under five real vocabularies, whose
                       pipelines are built here from the GGUF file's tokens and
                       merges, as docs say each family splits text
  NAME.json, NAME.golden.json
                       small tokenizer.json files trained here, and what the
                       `tokenizers` library makes of strings with them
  normalization.json   [text, NFC, NFD] by Python's unicodedata
"""
import json
import pathlib
import random
import sys
import unicodedata

import gguf
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers as pre, processors,
                        trainers)

OUT = pathlib.Path(__file__).parents[2] / 'tests/fixtures/tokenizers'

TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
HEAD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?"
LLAMA3 = HEAD + r"\p{L}+|\p{N}{1,3}" + TAIL
QWEN2 = HEAD + r"\p{L}+|\p{N}" + TAIL
QWEN35 = (HEAD + r"[\p{L}\p{M}]+|\p{N}"
          + TAIL.replace(r'\p{L}', r'\p{L}\p{M}', 1))

# Characters whose classes differ between the expressions, or that break
# splitters: line ends, no-break and wide spaces, combining marks, digits of
# other scripts, joiners, control characters.
POOL = list("aZsßéIiKk  \t\n\r'’.,!?-_09½४Ⅷ \u00a0\u3000\u0301\u0940\u0e31中文"
            "क한👍🏽'lLdvVeERSTm<|>\x85\u200b\u2028{}()=")
WORDS = ["the", " the", "don't", "<|im_end|>", "<|endoftext|>", " 12", "3",
         "\n\n", "  ", "é", "e\u0301", "hello", " World", "'re", "'S", "\r\n",
         "你", "th\x1de", "<think>", "</s>", "Příliš žluťoučký kůň", "👨‍👩‍👧",
         "1,234.5", "\u1112\u1161\u11ab", " 한국어", "ａ", "_x", "▁"]
FIXED = ["", " ", "in 2023", "  2", "x  2", "1 2  3", "\x1c\x1d\x1e\x1f x",
         "a\x1d\x1db", "क्षि", "ไทย", "👨‍👩‍👧", "\x00\x7f", "<|im_start",
         " \u0301 x", "A\u030a\u0327", "q\u0307\u0323", "\u212b\u2126",
         "The quick brown fox", "Příliš žluťoučký kůň úpěl ďábelské ódy.",
         "日本語のテキスト、中文文本。", "    if x:\n\t\treturn  y\r\n\r\n  ",
         "I'll we've THEY'RE 'sure' ''", "a" * 100, " " * 40, "\n" * 9 + "x",
         "<|im_start|>user\nhi<|im_end|>\n"]


def nasty(count, seed):
    rng = random.Random(seed)
    out = list(FIXED)
    while len(out) < count:
        long = len(out) % 2
        out.append(''.join(rng.choice(POOL if long else WORDS)
                           for _ in range(rng.randint(1, 14 if long else 7))))
    return out


def from_gguf(path):
    fields = gguf.GGUFReader(path).fields
    tokens, merges, types, kind = (
        fields['tokenizer.ggml.' + k].contents()
        for k in ('tokens', 'merges', 'token_type', 'pre'))

    def pair(m):
        space = m.index(' ', 1)
        return m[:space], m[space + 1:]
    t = Tokenizer(models.BPE(
        vocab={x: i for i, x in enumerate(tokens)},
        merges=[pair(m) for m in merges], ignore_merges=kind == 'llama-bpe'))
    if kind in ('qwen2', 'qwen35'):
        t.normalizer = normalizers.NFC()
    if kind == 'gpt-2':
        t.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    elif kind == 'smollm':
        t.pre_tokenizer = pre.Sequence([
            pre.Digits(individual_digits=True),
            pre.ByteLevel(add_prefix_space=False)])
    else:
        rx = {'llama-bpe': LLAMA3, 'qwen2': QWEN2, 'qwen35': QWEN35}[kind]
        t.pre_tokenizer = pre.Sequence([
            pre.Split(Regex(rx), behavior='isolated'),
            pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.add_tokens([AddedToken(x, special=y == 3, normalized=False)
                  for x, y in zip(tokens, types) if y in (3, 4)])
    return t


CORPUS = ["The quick brown fox jumps over the lazy dog.",
          "Don't panic: it's 42, they're 1,234 and we'll see 2023!",
          "Příliš žluťoučký kůň úpěl ďábelské ódy.",
          "def main():\n    return {'key': [1, 2, 3]}\n",
          "日本語のテキスト 中文文本 한국어", "émigré café naïve",
          "hello hello world world the the there then this that"] * 3


def train(t, size, **more):
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=size, show_progress=False, **more))
    return t


def gpt2_like():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    train(t, 420, initial_alphabet=pre.ByteLevel.alphabet(),
          special_tokens=['<|endoftext|>'])
    t.add_tokens([
        AddedToken('<mask>', lstrip=True, rstrip=True, normalized=False),
        AddedToken('dog', single_word=True, normalized=False),
        AddedToken('<think>', normalized=False),
        AddedToken('<thinking>', normalized=False)])
    return t


def llama3_like():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre.Sequence([
        pre.Split(Regex(LLAMA3), behavior='isolated'),
        pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 420, initial_alphabet=pre.ByteLevel.alphabet())
    t.add_special_tokens(['<|begin_of_text|>', '<|eot_id|>'])
    t.add_tokens([AddedToken('<think>', normalized=False)])
    bos = t.token_to_id('<|begin_of_text|>')
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single='<|begin_of_text|> $A', pair='<|begin_of_text|> $A $B',
            special_tokens=[('<|begin_of_text|>', bos)])])
    return t


def spm_like():
    """Gemma's and Llama 2's pieces: Prepend, Replace, byte fallback."""
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True,
                             unk_token='<unk>'))
    t.normalizer = normalizers.Sequence([
        normalizers.Prepend('▁'), normalizers.Replace(' ', '▁')])
    t.decoder = decoders.Sequence([
        decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(content=' ', left=1, right=0)])
    train(t, 460, special_tokens=['<unk>', '<s>', '</s>'] + [
        f'<0x{b:02X}>' for b in range(256)])
    t.post_processor = processors.TemplateProcessing(
        single='<s> $A </s>', special_tokens=[('<s>', 1), ('</s>', 2)])
    return t


def unk_like():
    """No byte fallback: unknown characters become <unk>, fused."""
    t = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=True))
    t.normalizer = normalizers.Sequence([
        normalizers.Strip(left=False), normalizers.NFD(), normalizers.Lowercase(),
        normalizers.Replace(Regex(r'[0-9]{2,}'), '0')])
    t.pre_tokenizer = pre.Metaspace(prepend_scheme='first')
    t.decoder = decoders.Metaspace(prepend_scheme='first')
    train(t, 150, special_tokens=['<unk>'])
    t.add_tokens([AddedToken('fox jumps', normalized=True)])
    return t


def splits_like():
    """Splits of every behaviour, by literal and by expression."""
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre.Sequence([
        pre.Split('\n', behavior='merged_with_previous'),
        pre.Split('-', behavior='merged_with_next'),
        pre.Split(Regex(r'[!?]'), behavior='contiguous'),
        pre.Split(Regex(r'\p{Lu}\p{Ll}*'), behavior='isolated'),
        pre.Split(Regex(r'[^\t]+'), behavior='removed', invert=True),
        pre.Digits(individual_digits=False),
        pre.Punctuation(behavior='isolated'),
        pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 400, initial_alphabet=pre.ByteLevel.alphabet())
    return t


def words_like():
    t = Tokenizer(models.BPE(unk_token='<unk>'))
    t.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), pre.Whitespace()])
    train(t, 200, special_tokens=['<unk>'])
    return t


def write(path, value):
    text = json.dumps(value, ensure_ascii=True, separators=(',', ':'))
    path.write_text(text + '\n')
    print(path.name, len(text))


def main(cache):
    OUT.mkdir(parents=True, exist_ok=True)
    cases = {}
    names = {'smollm2': 'models/SmolLM2-135M-Instruct.Q4_1.gguf'}
    names |= {n: f'test-data/vocabularies/ggml-vocab-{n}.gguf'
              for n in ('gpt-2', 'llama-bpe', 'qwen2', 'qwen35')}
    strings = nasty(360, 7)
    for name, file in names.items():
        t = from_gguf(cache / file)
        some = strings if name == 'smollm2' else strings[:160]
        cases[name] = {'file': file, 'ids': [
            t.encode(s, add_special_tokens=False).ids for s in some]}
    write(OUT / 'vocabularies.json', {'strings': strings, 'cases': cases})

    rng = random.Random(3)
    marks = [chr(c) for c in range(0x110000) if unicodedata.combining(chr(c))]
    whole = [chr(c) for c in range(0x110000) if unicodedata.decomposition(
        chr(c))[:1] not in ('', '<')]
    jamo = [chr(c) for c in (*range(0x1100, 0x1114), *range(0x1161, 0x1177),
                             *range(0x11A7, 0x11C4), *range(0xAC00, 0xAC40))]
    texts = [''.join(rng.choice(rng.choice((marks, whole, jamo, 'aEo ')))
                     for _ in range(rng.randint(1, 8))) for _ in range(250)]
    write(OUT / 'normalization.json', [
        [s] + [unicodedata.normalize(form, s) for form in ('NFC', 'NFD')]
        for s in texts])

    extra = ["a <mask> b", "<mask><mask>", "dog dogs hotdog dog.",
             "<thinking> <think> <thin", "a\tb\nc\n\nd--e!?!F", "Fox Jumps",
             "the fox jumps Fox Jumps.", "é e\u0301 ½ 12 1234", "İstanbul ǅ",
             " lead", "trail ", "<s>hi</s>", "<0x41>", "hello<|eot_id|>the"]
    strings = extra + nasty(90, 11)
    for make in (gpt2_like, llama3_like, spm_like, unk_like, splits_like,
                 words_like):
        t, name = make(), make.__name__
        (OUT / f'{name}.json').write_text(
            json.dumps(json.loads(t.to_str()), ensure_ascii=True,
                       separators=(',', ':')) + '\n')
        golden = []
        for s in strings:
            ids = t.encode(s).ids
            plain = t.encode(s, add_special_tokens=False).ids
            golden.append([s, ids, plain,
                           t.decode(ids, skip_special_tokens=True)])
        write(OUT / f'{name}.golden.json', golden)


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
