export { isWithinReach } from "./ancestry.js";
export { type BlobRef, type BlobSource, digestOf, isDigest, secretFrom, Withheld } from "./blob.js";
export { diff } from "./diff.js";
export { type Draft, drafted, type Stamped } from "./draft.js";
export {
  BeyondHorizonError,
  ContentError,
  FactError,
  MergeError,
  PlacementMismatchError,
  RathError,
  RecordError,
  SessionError,
} from "./error.js";
export {
  describeFact,
  type Fact,
  type FactFamily,
  type FactInput,
  type FactOf,
  type FactType,
  factTypes,
  familyOf,
  type Gone,
  isContent,
  isQuiet,
  lineOf,
  shortId,
  textOf,
  toneOf,
  traceFieldsOf,
} from "./fact/index.js";
export type * from "./fact/value.js";
export { type ConflictsState, conflictsView, type FilesState, filesView, type Unmerged } from "./files.js";
export { type Finding, findingOf } from "./finding.js";
export { graph, toDot, toMermaid } from "./graph.js";
export { asJson, canonical, frozen, type Json, jsonCopy, MAX_CHARACTERS, MAX_DEPTH } from "./json.js";
export { type KeepingSetting, keepingView } from "./keeping.js";
export {
  checkLine,
  digestsOf,
  FORMAT,
  INLINE_BYTES,
  parentsOf,
  readFact,
  refsOf,
  typeOf,
  writeLine,
} from "./line.js";
export { backFrom, branchView, lineageView } from "./lineage.js";
export { List } from "./list.js";
export { dueOf, type Pending, pendingView } from "./pending.js";
export { placementView } from "./placement.js";
export { agentIn, isPerson, isPrincipal, isWorkflow, PRINCIPAL_KINDS } from "./principal.js";
export type { Host, PastSource, Realm } from "./realm.js";
export type { StartOptions } from "./root.js";
export { type SandboxState, sandboxView } from "./sandbox.js";
export { requireSession, Session } from "./session.js";
export { approversOf, mayAgree, maySettle, settlersOf, type Terms, termsFault } from "./terms.js";
export { readableError, thrownMessage, warnOf } from "./thrown.js";
export {
  DROP_OUTPUTS,
  type Entry,
  messagesOf,
  placesOf,
  stubbed,
  type Transcript,
  transcriptView,
  wordsOf,
} from "./transcript/index.js";
export { EMPTY_TREE, readTree, type Tree, type TreeEntry, treesOf, writeTree } from "./tree.js";
export { type Cost, costText, costWith, type TotalUsage, usageView } from "./usage.js";
export { VERSION } from "./version.js";
export {
  adopted,
  adoptedSide,
  goesOnFrom,
  keepInSnapshots,
  knownOf,
  savedAsJson,
  seedView,
  snapshotViews,
  type View,
} from "./view.js";
export { visible, visibleText } from "./visible.js";
