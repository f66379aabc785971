import { entries as audit } from "./entries/audit.js";
import { entries as demo } from "./entries/demo.js";
import { entries as dossier } from "./entries/dossier.js";
import { entries as proof } from "./entries/proof.js";
import { entries as run } from "./entries/run.js";
import { entries as session } from "./entries/session.js";
import { entries as store } from "./entries/store.js";
import type { Entry } from "./entry.js";

/** Every command, in the groups that help shows. */
export const groups: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  { title: "Begin", entries: demo },
  { title: "Run", entries: run },
  { title: "Look, branch, bring together", entries: session },
  { title: "Show and prove", entries: [...dossier, ...proof] },
  { title: "Ask the record", entries: audit },
  { title: "In, out, and looking after it", entries: store },
];
