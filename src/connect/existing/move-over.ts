import { type Draft, LONGEST, type ScopeGiven, scopeOf } from "../../memory/index.js";
import { isPrincipal, type Principal } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { requireSourceGiven } from "./index-existing.js";
import type { Link } from "./links.js";
import { ExistingError, type ExistingSource } from "./source.js";

export type MoveOptions = {
  /** The scope of the memories. */
  readonly scope: ScopeGiven;
  readonly by: Principal;
  /** Where the records are read. It may be left out for those whose text was copied. */
  readonly from?: ExistingSource;
  readonly subject?: (link: Link) => string | undefined;
};

/** The result for a link: a draft of a memory, or the reason why it was refused. */
export type Moved =
  | { readonly link: Link; readonly draft: Draft }
  | { readonly link: Link; readonly refused: string };

const OPTIONS = optionNames<MoveOptions>()("scope by from subject");
const EXAMPLE = 'moveOver(store, links, { from: jsonlLogs(…), scope: "user:ada", by: "user:ada" })';

/**
 * Makes memories of linked records: of each the draft to write, with the import as its evidence. The source is read
 * once, however many links there are; a record that is not what was linked is refused.
 */
export async function* moveOver(
  store: Store,
  links: Link | readonly Link[],
  options: MoveOptions,
): AsyncGenerator<Moved> {
  const use = "make memories of linked records";
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { from, by } = options;
  scopeOf(options.scope, use);
  if (!isPrincipal(by)) throw refuse(`its \`by\` is ${showValue(by)}`, 'who remembers them: by: "user:ada"');
  if (from !== undefined) requireSourceGiven(from, refuse, EXAMPLE);
  const wanted = new Map<string, Link>();
  for (const link of Array.isArray(links) ? (links as readonly Link[]) : [links as Link]) {
    if (link.imported === undefined || !(await store.has(link.imported)) || !(await store.has(link.fact)))
      yield { link, refused: "its import is not in this store, or not finished: index it again" };
    else if (link.text !== undefined) yield moved(link, link.text, options);
    else if (from === undefined || from.source !== link.source || from.format !== link.format)
      yield { link, refused: `its text is in ${showValue(link.source)}: give that as from` };
    else wanted.set(link.key, link);
  }
  if (from === undefined || wanted.size === 0) return;
  for await (const entry of from.entries()) {
    const link = "record" in entry ? wanted.get(entry.record.key) : undefined;
    if (!("record" in entry) || link === undefined) continue;
    wanted.delete(link.key);
    yield entry.record.digest === link.digest
      ? moved(link, entry.record.text, options)
      : { link, refused: "it is another record now than the one that was linked" };
    if (wanted.size === 0) return;
  }
  for (const link of wanted.values()) yield { link, refused: "it is no longer in the source" };
}

function moved(link: Link, text: string | undefined, { scope, by, subject }: MoveOptions): Moved {
  if (text === undefined || text.trim() === "")
    return { link, refused: "it has no text: say which field that is" };
  if (text.length > LONGEST)
    return { link, refused: `its text has ${text.length} characters, and a memory has ${LONGEST} at most` };
  const { name, format, source, key, digest, session, at, role, imported, fact } = link;
  const about = subject?.(link);
  const existing = { name, format, source, key, digest, session, ...(at && { at }), ...(role && { role }) };
  return {
    link,
    draft: {
      text,
      scope,
      source: "import",
      because: [imported as string, fact],
      by,
      ...defined({ subject: about }),
      meta: { existing },
    },
  };
}
