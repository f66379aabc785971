export { DROP_OUTPUTS, placesOf, stubbed } from "./compress.js";
export type { Entry, Transcript } from "./state.js";
export { lacks, messagesOf, newestOf, transcriptView } from "./transcript.js";
export { answerIn, wordsOf } from "./words.js";
