#!/usr/bin/env python3
"""Verify an exported OpenRath record (docs/format.md) with Python 3.8 or newer and its standard library alone.
Exit code: 0 sound, 3 not sound (each problem on stderr, with its line number), 1 usage or I/O."""
import argparse, base64, hashlib, json, re, sys
FACT, ERASURE = (["parents", "fact"], ["parents", "blobs", "fact"]), ["erased", "fact", "by", "at", "why"]
TREES, ROOTS = "workspace-(import|change|merge|resolve)|session-detach|sandbox-open", "before after base ours theirs tree"
HEX, met = re.compile("[0-9a-f]{64}"), {(hashlib.sha256(b'{"tree":1,"entries":[]}').hexdigest(), "tree", -1)}  # the empty tree
ESCAPE = re.compile(r'\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f])|ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|ud[c-f][0-9a-f]{2})')
facts, heads, awaited, sizes, texts, asked, claims, erasers, problems = set(), {}, {}, {}, {}, [], [], {}, []
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
    if data.startswith((b'{"tree":1,', b'["')): texts[line["blob"]] = data  # may be a directory, or the pieces of a long file
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
    heads[name] = need(name not in facts and not facts.add(name), "this fact is there twice")
    awaited.update((parent, at) for parent in parents if parent not in facts)
    for parent in parents: heads.pop(parent, None)
    asked.extend((at, ref["digest"]) for ref in refs.values() if sizes.get(ref["digest"]) != ref["size"])
    if fact["type"] == "content-erase" and hexes(fact.get("digests", [])): erasers[name] = fact
    todo = [(fact[key], "tree", -1) for key in ROOTS.split() if re.fullmatch(TREES, fact["type"]) and fact.get(key)]
    for digest, kind, size in todo:  # it grows as directories are met, each of them once
        if (digest, kind, size) in met or met.add((digest, kind, size)): continue
        if kind != "file" and digest in sizes: todo += named(digest, kind)
        elif sizes.get(digest, size if args.partial else None) != size: asked.append((at, digest))
def agree(claim):  # an erasure line against the fact it names; a long list of digests or reason may stand in a blob
    told = {**claim, "digests": [claim["erased"]], **erasers.get(claim["fact"], {"by": None} if claim["fact"] in facts else {})}
    return claim["erased"] in told["digests"] and all(told[key] == claim[key] for key in ERASURE[2:])
options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("file", nargs="?", help="an exported record (default: standard input)")
options.add_argument("--head", action="append", default=[], metavar="ID", help="an id that must be there")
options.add_argument("--partial", action="store_true", help="allow parents and trees that are not in the file")
options.error = lambda message: sys.exit("verify.py: " + ascii(message))
args = options.parse_args()
try:
    for at, raw in enumerate(open(args.file, "rb") if args.file else sys.stdin.buffer, 1):
        try:
            line = parse(raw.rstrip(b"\n").decode("utf-8"))
            if list(line) == ["blob", "data"]: take_blob(line)
            elif list(line) == ERASURE and hexes([line["erased"], line["fact"]]): claims.append((at, line))
            else: take_fact(line, at, raw.rstrip(b"\n"))
        except (ValueError, RecursionError, TypeError, LookupError) as bad: problems.append("line %d: %s" % (at, getattr(bad, "msg", bad)))
except OSError as error: sys.exit("verify.py: %s" % ascii(str(error)))
erased = {digest: dict(fact, fact=name) for name, fact in erasers.items() for digest in fact.get("digests", [])}
for at, claim in claims: erased.setdefault(claim["erased"], claim)
gone = {digest: erased[digest] for _, digest in asked if digest in erased and digest not in sizes}
problems += ["line %d: the fact it names does not say so" % at for at, claim in claims if not agree(claim)]
problems += ["line %d: parent %s is not above it" % (at, id) for id, at in awaited.items() if not args.partial or id in facts]
problems += ["line %d: blob %s is missing, below, or of another size" % lost for lost in asked if lost[1] not in gone]
problems += ["head %s is not in this file" % ascii(head) for head in args.head if head not in facts]
if problems or not facts: sys.exit(print("\n".join(problems or ["there is no fact in this file"]), file=sys.stderr) or 3)
print("ok: %d facts, %d blobs, %d erased, %d heads" % (len(facts), len(sizes), len(gone), len(heads)), *heads, sep="\nhead ")
for digest, told in gone.items():
    who = "by %s at %s why %s" % tuple(json.dumps(told.get(key)) for key in ERASURE[2:])
    print("erased", digest, who + ("" if told["fact"] in facts else " (said by %s, which is not in this file)" % told["fact"]))
