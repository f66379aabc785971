export { type Pages, pages } from "./pages.js";
export { factRow } from "./row.js";
