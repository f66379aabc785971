import { isUrl } from "./part.js";
import type { FilePart } from "./prompt.js";

const OPENAI = /^(openai|azure(-openai)?)\./;
const MISTRAL = /^mistral\./;

/** Whether a provider takes a file from the user. Of those that are not known here it is believed. */
export function takesFile(provider: string, { mediaType, data }: FilePart): boolean {
  const isPicture = mediaType.startsWith("image/");
  const isDocument = mediaType === "application/pdf";
  // Google's own addresses mean nothing to others.
  const isHere = !/^gs:/i.test(data);
  if (/(^|\.)anthropic\./.test(provider)) return isHere && (isPicture || isDocument);
  if (OPENAI.test(provider) && provider.endsWith(".responses")) return isHere && (isPicture || isDocument);
  if (!speaksChat(provider) || MISTRAL.test(provider)) return true;
  if (isPicture) return isHere;
  return !isUrl(data) && (isDocument || /^audio\/(wav|mp3|mpeg)$/.test(mediaType));
}

/**
 * Whether a provider is asked through OpenAI's chat API, whose clients are called after it; Google's are too, and speak
 * another one. A tool's result is text there: clients write anything else as JSON, and a picture is a million letters.
 */
export function speaksChat(provider: string): boolean {
  return provider.endsWith(".chat") && !provider.startsWith("google");
}

/**
 * Whether a file may follow such a result as the user's. Of those who speak the chat API, OpenAI takes what a user may
 * send, others pictures at most; Mistral refuses a user who speaks after a tool.
 */
export function takesAfterResults(provider: string, file: FilePart): boolean {
  if (!takesFile(provider, file) || MISTRAL.test(provider)) return false;
  return OPENAI.test(provider) || file.mediaType.startsWith("image/");
}
