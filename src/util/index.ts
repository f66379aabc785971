export { parseJson } from "./json.js";
export { nearestOf } from "./nearest.js";
export { defined, isObject, isPromise, isSameList, mapValues } from "./object.js";
export { optionNames, unknownOption } from "./options.js";
export { amount, clip, compareText, firstLine, quoteShell, showValue } from "./text.js";
export { fitsWildcards } from "./wildcard.js";
