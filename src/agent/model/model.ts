/**
 * Who answers: any language model object of the AI SDK, specification V2 (ai 5), V3 (ai 6) or V4 (ai 7). This is the
 * part of those that is used here, written down as a shape of our own, so that nobody needs the AI SDK to compile.
 * Methods are compared leniently by TypeScript, so models of all three fit; `model.test-d.ts` proves it.
 */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: CallOptions): PromiseLike<Generated>;
  doStream(options: CallOptions): PromiseLike<Streamed>;
}

/** What a call is given. The messages are of the model's own specification by then. */
export type CallOptions = {
  readonly prompt: readonly object[];
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: { readonly [provider: string]: object };
};

/** What a call gives. The parts differ between the versions and are read one by one in reply.ts. */
export type Generated = {
  readonly content: readonly Typed[];
  readonly finishReason: FinishReason;
  readonly usage: object;
  readonly providerMetadata?: object;
  readonly response?: { readonly id?: string; readonly modelId?: string; readonly headers?: object };
  readonly warnings?: readonly object[];
};

export type Streamed = {
  readonly stream: { getReader(): Reader<Typed> };
  readonly response?: { readonly headers?: object };
};

export type Reader<Item> = {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: Item | undefined }>;
  cancel(reason?: unknown): PromiseLike<void>;
};
/** A word in V2, the provider's word beside it since V3. */
export type FinishReason = string | { readonly unified: string; readonly raw?: string | undefined };
export type Typed = { readonly type: string };
