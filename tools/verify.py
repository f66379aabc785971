#!/usr/bin/env python3
"""Verify an exported OpenRath record (docs/format.md), a bundle or a proof of inclusion (docs/verification.md) with Python
3.8 or newer and its standard library alone. Exit code: 0 sound, 3 not sound (each problem on stderr, with its line number),
1 usage or I/O."""
import argparse, base64, hashlib, json, re, sys, unicodedata
FACT, ERASURE = (["parents", "fact"], ["parents", "blobs", "fact"]), ["erased", "fact", "by", "at", "why"]
TREES, ROOTS = "workspace-(import|change|merge|resolve)|session-detach|sandbox-open", "before after base ours theirs tree"
HEX, met = re.compile("[0-9a-f]{64}"), {(hashlib.sha256(b'{"tree":1,"entries":[]}').hexdigest(), "tree", -1)}  # the empty tree
ESCAPE = re.compile(r'\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f])|ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|ud[c-f][0-9a-f]{2})')
facts, heads, awaited, sizes, texts, asked, claims, erasers, problems = {}, {}, {}, {}, {}, [], [], {}, []
SECTIONS = ["about", "lines", "view", "keys", "seal", "digest", "signatures"]
bundle, sums, record, keys, signed = {}, [], hashlib.sha256(), {}, []  # sections: line number and text; who vouches for what
# Ed25519, as RFC 8032 defines it: points as (X, Y, Z, T) with x = X/Z, y = Y/Z and xy = T/Z, modulo the prime P
P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, I = -121665 * pow(121666, P - 2, P) % P, pow(2, (P - 1) // 4, P)
def add(one, other):
    a, b = (one[1] - one[0]) * (other[1] - other[0]) % P, (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P
def times(number, point):
    total = (0, 1, 1, 0)
    while number:
        if number & 1: total = add(total, point)
        number, point = number >> 1, add(point, point)
    return total
def point(octets):
    y = int.from_bytes(octets, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P: x = x * I % P
    if y >= P or (x * x - square) % P or (x == 0 and sign): return None
    if x & 1 != sign: x = P - x
    return x, y, 1, x * y % P
BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
def is_signed(public, message, signature):
    a, r, s = point(public), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or r is None or s >= Q: return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % Q
    one, other = times(s, BASE), add(r, times(h, a))
    return (one[0] * other[2] - other[0] * one[2]) % P == 0 and (one[1] * other[2] - other[1] * one[2]) % P == 0
def octets(text, length):  # base64 in its one spelling
    data = base64.b64decode(text, validate=True)
    need(len(data) == length and base64.b64encode(data).decode() == text, "not base64 of %d bytes" % length)
    return data
def plain(text): return "".join(one if " " <= one <= "~" else ascii(one)[1:-1] for one in str(text))  # what a terminal may be shown
def called(name):  # what a key or a log may be called: it stands in lines that are split at blanks and plus signs
    bad = any(one.isspace() or one == "+" or unicodedata.category(one)[0] == "C" for one in name)
    need(name and not bad and len(name.encode("utf-16-le")) <= 200, "not the name of a key or a log")
    return name
def take_key(text):  # NAME+ID+BASE64, the text of C2SP's signed notes
    name, number, data = (text[:-1] if text.endswith("\n") else text).split("+", 2)
    name, data = called(name), octets(data, 33)
    known = hashlib.sha256(name.encode() + b"\n" + data).hexdigest()[:8]
    need(data[0] == 1 and known == number, "not an Ed25519 key of that id")
    need(keys.setdefault(name + "+" + number, data[1:]) == data[1:], "not the key of that name and id that is known")
    return name + "+" + number
def signer(line, message):  # a line of a note: the key's label, and whether its signature is good (None: nobody knows the key)
    dash, name, data = line.split(" ")
    data = octets(data, 68)
    label = name + "+" + data[:4].hex()
    need(dash == "\u2014", "not a signature")
    return label, is_signed(keys[label], message.encode(), data[4:]) if label in keys else None
def node(left, right): return hashlib.sha256(b"\x01" + left + right).digest()
def leaf(name): return hashlib.sha256(b"\x00" + bytes.fromhex(name)).digest()
def root(names):  # of the Merkle tree of RFC 6962 over the ids of facts
    trees = []  # whole subtrees: how many leaves, and the hash
    for name in names:
        trees.append((1, leaf(name)))
        while len(trees) > 1 and trees[-1][0] == trees[-2][0]: trees[-2:] = [(trees[-2][0] * 2, node(trees[-2][1], trees[-1][1]))]
    while len(trees) > 1: trees[-2:] = [(0, node(trees[-2][1], trees[-1][1]))]
    return trees[0][1].hex() if trees else hashlib.sha256().hexdigest()
def prove(text, name):  # that a fact is in a log: both forms of a proof; the root follows from the fact and the hashes
    first, rest = text.split("\n", 1)
    if first == "openrath-proof 1":
        rows = rest.rstrip("\n").split("\n")
        (origin, index, size), path, lines = rows[0].split(" "), rows[1], rows[2:]
        data = base64.b64decode(path, validate=True)
        path, given = [data[at:at + 32] for at in range(0, len(data), 32)], None
    else:
        hashes, body, lines = rest.split("\n\n")
        (word, index), path = hashes.split("\n")[0].split(" "), [octets(one, 32) for one in hashes.split("\n")[1:]]
        (origin, size, given), lines = body.split("\n"), lines.rstrip("\n").split("\n")
        need(word == "index", "not a proof")
    at, last, found = int(index), int(size) - 1, leaf(name)
    need(first in ("openrath-proof 1", "c2sp.org/tlog-proof@v1") and 0 <= at <= last and called(origin), "not a proof")
    for beside in path:
        need(last > 0, "too many hashes")
        if at % 2 or at == last:
            found = node(beside, found)
            while at and not at % 2: at, last = at // 2, last // 2
        else: found = node(found, beside)
        at, last = at // 2, last // 2
    need(last == 0, "too few hashes")
    found = base64.b64encode(found).decode()
    need(given in (None, found), "it leads to another root than the one that was signed")
    who = [signer(line, "%s\n%d\n%s\n" % (origin, int(size), found)) for line in lines]
    need(who and all(good for _, good in who), "not signed by a key that was given, or not about this fact")
    print(plain("ok: fact %s is number %s of %s in %s, signed by %s" % (name, index, size, origin, ", ".join(one for one, _ in who))))
def need(condition, otherwise):
    if not condition: raise ValueError(otherwise)
def hexes(values): return isinstance(values, list) and all(isinstance(one, str) and HEX.fullmatch(one) for one in values)
def once(pairs): return dict(pairs) if len(dict(pairs)) == len(pairs) else need(False, "a key is there twice")
def parse(text):
    value = json.loads(text, object_pairs_hook=once, parse_constant=lambda name: need(False, name + " is not JSON"))
    bare = ESCAPE.sub("", text)  # every quote left here begins or ends a string, and between strings there are no blanks
    need("\\" not in bare and not any(re.search(r"\s", part) for part in bare.split('"')[::2]), "not in normal form")
    return value if isinstance(value, dict) else {}
def take_blob(line):
    data = base64.b64decode(str(line["data"]), validate=True)
    need(hashlib.sha256(data).hexdigest() == line["blob"], "the bytes are not those that the digest names")
    need(base64.b64encode(data).decode() == line["data"] and line["blob"] not in sizes, "twice, or not in normal form")
    sizes[line["blob"]] = len(data)
    # It may be a directory, the pieces of a long file, or a list of what was erased, with or without a salt.
    if data.startswith((b'{"tree":1,', b'["')) or data[32:34] == b'["': texts[line["blob"]] = data
def named(digest, kind):  # what a directory names (digest, kind, size), or the list of a file's pieces
    need(digest in texts, "%s is not the tree, or the list of pieces, that it is said to be" % digest)
    if kind == "parts": return [(one, "file", sizes.get(one, -1)) for one in json.loads(texts[digest])]
    rows = parse(texts[digest].decode("utf-8"))["entries"]
    need(len({row[0] for row in rows if not re.fullmatch(r"(?s)\.{0,2}|.*[/\0].*", row[0])}) == len(rows), "bad names in " + digest)
    return [(row[-1], row[1], row[3] if row[1] == "file" else -1) for row in rows if row[1] != "link"]
def take_fact(line, at, raw):
    need(raw.startswith(b'{"rath":1,') and list(line)[1:] in FACT, "not a fact, blob or erasure line of format 1")
    parents, refs, fact = line["parents"], line.get("blobs", {}), line["fact"]
    need(hexes(parents) and len(set(parents)) == len(parents), "parents are not a list of different ids")
    need(isinstance(fact, dict) and all(isinstance(fact.get(key), str) for key in ("type", "at", "by")), "no type, at or by")
    for field, ref in refs.items() if isinstance(refs, dict) and (refs or "blobs" not in line) else [("", None)]:
        need(isinstance(ref, dict) and hexes([ref.get("digest")]) and field not in {**fact, "run": 0, "seq": 0}
             and type(ref.get("size")) is int and type(ref.get("salt", 0)) is int and 0 <= ref.get("salt", 0) <= ref["size"]
             and ref.get("media") in ("text/plain", "application/json"), "a blob is not described properly")
    name = hashlib.sha256(raw).hexdigest()
    heads[name] = need(name not in facts, "this fact is there twice")
    facts[name] = at
    awaited.update((parent, at) for parent in parents if parent not in facts)
    for parent in parents: heads.pop(parent, None)
    asked.extend((at, ref["digest"]) for ref in refs.values() if sizes.get(ref["digest"]) != ref["size"])
    if fact["type"] == "head-sign": signed.append((at, raw, parents, fact))
    if fact["type"] == "content-erase":  # a long list stands in a blob; where that is not here, the fact says nothing
        ref = refs.get("digests", {})
        listed = fact.get("digests") or json.loads(texts.get(ref.get("digest"), b"")[ref.get("salt", 0):].decode("utf-8") or "[]")
        if hexes(listed): erasers[name] = {"why": None, **fact, "digests": set(listed)}
    todo = [(fact[key], "tree", -1) for key in ROOTS.split() if re.fullmatch(TREES, fact["type"]) and fact.get(key)]
    for digest, kind, size in todo:  # it grows as directories are met, each of them once
        if (digest, kind, size) in met or met.add((digest, kind, size)): continue
        if kind != "file" and digest in sizes: todo += named(digest, kind)
        elif sizes.get(digest, size if args.partial else None) != size: asked.append((at, digest))
def agree(claim):  # an erasure line against the fact it names
    told = {**claim, "digests": [claim["erased"]], **erasers.get(claim["fact"], {} if args.partial and claim["fact"] not in facts else {"by": None})}
    return claim["erased"] in told["digests"] and all(told[key] == claim[key] for key in ERASURE[2:])
def check_head(at, raw, parents, fact):  # the signature is over the line without it, so it covers all that the fact says
    label, text = fact.get("key"), raw.decode("utf-8").split('"signature":"%s"' % fact.get("signature"))
    need(parents == [fact.get("of")] and len(text) == 2, "it signs something that it does not follow")
    signature = octets(fact["signature"], 64)
    if label not in keys: return "unknown"
    need(is_signed(keys[label], ("openrath head-sign\n" + '"signature":""'.join(text)).encode("utf-8"), signature), "a bad signature")
    return "good"
def unframe(lines):  # the lines of a record; of a bundle, what stands around them is put aside
    inside, comma, ended = None, True, True
    for at, raw in enumerate(lines, 1):
        ended = raw.endswith(b"\n")
        raw = raw[:-1] if ended else raw
        if at == 1 and raw.startswith(b'{"bundle"'):
            inside, bundle["first"] = False, (at, raw)
            if raw != b'{"bundle":1,': problems.append("line 1: not a bundle of format 1")
        elif inside is None: yield at, raw
        elif inside and raw == b"],":
            inside = False
            if comma: problems.append("line %d: a comma before the end of the record" % at)
        elif inside:
            if not comma: problems.append("line %d: no comma before it" % at)
            comma = raw.endswith(b",")
            raw = raw[:-1] if comma else raw
            sums.append((at, hashlib.sha256(raw).hexdigest()[:8]))
            record.update(raw + b"\n")
            yield at, raw
        else:
            name = SECTIONS[len(bundle) - 1] if len(bundle) <= len(SECTIONS) else "nothing"
            start, end = ('"%s":' % name).encode(), {"lines": b"[", "signatures": b"}"}.get(name, b",")
            fits = raw == start + end if name == "lines" else name != "nothing" and raw.startswith(start) and raw.endswith(end)
            if not fits: problems.append("line %d: here must stand %s" % (at, name))
            bundle.setdefault(name, (at, raw[len(start):-1]))
            inside = name == "lines"
    if bundle and not ended: problems.append("the file ends in its last line, without a newline")
def check_bundle():  # every section against the seal, the seal against its digest and the signatures
    values = {}
    for name in SECTIONS:
        need(name in bundle, "the file ends before its %s: it was cut off" % name)
        text = "0" if name == "lines" else bundle[name][1].decode("utf-8")
        values[name] = parse(text) if name in ("about", "view") else json.loads(text)
        isnormal = name in ("about", "view") or json.dumps(values[name], ensure_ascii=False, separators=(",", ":")) == text
        need(isnormal, "line %d: not in normal form" % bundle[name][0])
    seal, digest = values["seal"], hashlib.sha256(bundle["seal"][1]).hexdigest()
    need(values["digest"] == digest, "line %d: not the digest of the seal" % bundle["digest"][0])
    for name in ("about", "view", "keys"):
        if hashlib.sha256(bundle[name][1]).hexdigest() != seal["sections"][name]:
            problems.append("line %d: the section %s is not what was sealed" % (bundle[name][0], name))
    told = [seal["sums"][at:at + 8] for at in range(0, len(seal["sums"]), 8)]
    problems.extend("line %d: not the line that was sealed" % at for (at, one), other in zip(sums, told) if one != other)
    if len(sums) != len(told): problems.append("%d lines were sealed, and %d are here" % (len(told), len(sums)))
    need(record.hexdigest() == seal["sections"]["lines"] and root(facts) == seal["root"], "the record is not the one that was sealed")
    need((len(facts), len(sizes), len(claims)) == (seal["facts"], seal["blobs"], seal["erased"]), "the seal counts something else")
    need(all(head in facts for head in seal["heads"]), "a head of the seal is not here")
    for text in values["keys"]: take_key(text)
    who = [signer(line, "openrath bundle\n%s\n" % digest) for line in values["signatures"]]
    need(all(good for _, good in who), "line %d: a bad signature" % bundle["signatures"][0])
    return [label for label, _ in who]
options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("file", nargs="?", help="an exported record (default: standard input)")
options.add_argument("--head", action="append", default=[], metavar="ID", help="an id that must be there")
options.add_argument("--key", action="append", default=[], metavar="FILE", help="a public key: it must have signed the bundle, or every head")
options.add_argument("--proof", metavar="FILE", help="a proof of inclusion; then give the id of the fact instead of a file")
options.add_argument("--partial", action="store_true", help="allow parents and trees that are not in the file")
options.error = lambda message: sys.exit("verify.py: " + ascii(message))
args = options.parse_args()
WRONG = (ValueError, RecursionError, TypeError, LookupError, AttributeError)
signers, given = [], []
try:
    given = [take_key(open(name, "rb").read().decode("utf-8")) for name in args.key]
    if args.proof:
        need(args.file and HEX.fullmatch(args.file), "give the id of a fact")
        sys.exit(prove(open(args.proof, "rb").read().decode("utf-8"), args.file))
    for at, raw in unframe(open(args.file, "rb") if args.file else sys.stdin.buffer):
        try:
            line = parse(raw.decode("utf-8"))
            if list(line) == ["blob", "data"]: take_blob(line)
            elif list(line) == ERASURE and hexes([line["erased"], line["fact"]]): claims.append((at, line))
            else: take_fact(line, at, raw)
        except WRONG as bad: problems.append("line %d: %s" % (at, getattr(bad, "msg", bad)))
    if bundle: signers = check_bundle()
except OSError as error: sys.exit("verify.py: %s" % ascii(str(error)))
except WRONG as bad: problems.append(str(getattr(bad, "msg", bad)))
verdicts = []
for at, raw, parents, fact in signed:
    try: verdicts.append((fact["of"], fact["key"], fact["by"], fact["at"], check_head(at, raw, parents, fact), hashlib.sha256(raw).hexdigest()))
    except WRONG as bad: problems.append("line %d: %s" % (at, bad))
if bundle: problems += ["%s did not sign this bundle" % label for label in given if label not in signers]
else:
    vouched = {(head, label) for _, label, _, _, verdict, head in verdicts if verdict == "good"}
    problems += ["head %s is not a signature of %s" % (head, label) for label in given for head in heads if (head, label) not in vouched]
erased = {digest: dict(fact, fact=name) for name, fact in erasers.items() for digest in fact.get("digests", [])}
for at, claim in claims: erased.setdefault(claim["erased"], claim)
gone = {digest: erased[digest] for _, digest in asked if digest in erased and digest not in sizes}
problems += ["line %d: the fact it names does not say so, or is not in this file" % at for at, claim in claims if not agree(claim)]
problems += ["line %d: parent %s is not above it" % (at, id) for id, at in awaited.items() if not args.partial or id in facts]
problems += ["line %d: blob %s is missing, below, or of another size" % lost for lost in asked if lost[1] not in gone]
problems += ["head %s is not in this file" % ascii(head) for head in args.head if head not in facts]
if problems or not facts: sys.exit(print("\n".join(map(plain, problems) if problems else ["there is no fact in this file"]), file=sys.stderr) or 3)
print("ok: %d facts, %d blobs, %d erased, %d heads" % (len(facts), len(sizes), len(gone), len(heads)), *heads, sep="\nhead ")
for label in signers: print("signed by", plain(label), "(a key that was given)" if label in given else "(known from the bundle alone)")
for of, label, by, when, verdict, _ in verdicts:
    print("head-sign", plain(of), plain("by %s at %s with %s:" % (json.dumps(by), json.dumps(when), json.dumps(label))), verdict)
for digest, told in gone.items():
    who = "by %s at %s why %s" % tuple(json.dumps(told.get(key)) for key in ERASURE[2:])
    print("erased", plain(digest), plain(who) + ("" if told["fact"] in facts else " (said by %s, which is not in this file)" % told["fact"]))
