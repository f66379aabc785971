export type { Dossier } from "./dossier.js";
export { dossierOf } from "./dossier-of.js";
export { dossierHtml } from "./html/page.js";
export { DossierOptionError, type DossierOptions } from "./options.js";
export { writeWhole } from "./whole-file.js";
export { type WrittenDossier, writeDossier } from "./write.js";
