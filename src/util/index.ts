export { parseJson } from "./json.js";
export { nearestOf } from "./nearest.js";
export { defined, isObject, isPromise, isSameList, isSize, mapValues } from "./object.js";
export { optionNames, unknownOption } from "./options.js";
export { postorder } from "./postorder.js";
export { amount, clip, compareText, decodePart, firstLine, isText, quoteShell, showValue } from "./text.js";
export { fitsWildcards } from "./wildcard.js";
