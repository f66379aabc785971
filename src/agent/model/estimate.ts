/**
 * About how many tokens a text is: four latin letters make one, other alphabets two, and of scripts without spaces
 * nearly every character is one. Good for budgets; what a provider counted is the truth.
 */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    quarters += code < 0x250 ? 1 : code < 0x2e80 ? 2 : code >= 0xd800 && code < 0xe000 ? 3 : 4;
  }
  return Math.ceil(quarters / 4);
}
