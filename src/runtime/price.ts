/** What models cost, in US dollars per million tokens, by the id of the model. */
export type Prices = {
  readonly [model: string]: { readonly input: number; readonly output: number; readonly cached?: number };
};
