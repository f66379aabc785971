export { DOSSIER, type Dossier } from "./dossier.js";
export { dossierOf } from "./dossier-of.js";
export { dossierHtml, type PageOptions } from "./html/page.js";
export { DossierOptionError, type DossierOptions } from "./options.js";
export { writeWhole } from "./whole-file.js";
export type { Told } from "./words.js";
export { type WriteOptions, type WrittenDossier, writeDossier } from "./write.js";
