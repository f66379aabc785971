// @ts-check

/** @type {readonly { form: string, pattern: RegExp }[]} */
const forms = [
  { form: "is none", pattern: /\b(?:is|are|was|were|be) none\b/gi },
  // "There is no file" is plain English; "the path is no folder" is not.
  {
    form: "is no X",
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were|be) no (?!longer\b|more\b|fewer\b|less\b|later\b|shorter\b)(?=[a-z`"])/gi,
  },
  { form: "whoever, whom", pattern: /\b(?:whoever|whomever|whosever|whom)\b/gi },
  { form: "shall", pattern: /\bshall\b/gi },
  { form: "for ever", pattern: /\bfor ever\b/gi },
  { form: "any more", pattern: /\bany more\b/gi },
  { form: "of several", pattern: /\bof several\b/gi },
  { form: "as asked", pattern: /\bas asked\b/gi },
  // A clause in place of a noun at the start of a sentence: "What is finished is not done again." Questions are fine.
  {
    form: "headless what/who",
    pattern: /(?:(?<=^|[.!?:]\s+|^\s*- )(?:What|Who)|(?<=;\s+)(?:what|who)) [^.;?]+(?![^.;]*\?)/gm,
  },
];

/**
 * The banned forms in a text, with their offsets.
 *
 * @param {string} text
 */
export function formsIn(text) {
  return forms.flatMap(({ form, pattern }) =>
    [...text.matchAll(pattern)].map((match) => ({ form, offset: match.index })),
  );
}
