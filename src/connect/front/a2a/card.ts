import type { Json } from "../../../session/index.js";
import { FrontError } from "../door.js";

/** The agent's description of itself, as A2A writes it. The server adds its interface and capabilities. */
export type A2aCard = {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Where the door is reached. */
  readonly url: string;
  readonly skills: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly tags: readonly string[];
    readonly examples?: readonly string[];
  }[];
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  /** How callers show who they are, as A2A writes it; your `principal` checks it. */
  readonly securitySchemes?: { readonly [name: string]: Json };
  readonly securityRequirements?: readonly Json[];
};

export const A2A_VERSION = "1.0";
export const CARD_PATH = "/.well-known/agent-card.json";

/** The card as it is served. */
export function cardOf(card: A2aCard, pushNotifications: boolean): Json {
  const refuse = (reason: string): FrontError =>
    new FrontError(
      "a2a",
      reason,
      "card: { name, description, version, url, skills: [{ id, name, description, tags }] }",
    );
  if (typeof card !== "object" || card === null) throw refuse("it has no card");
  const { name, description, version, url, skills, ...more } = card;
  for (const [field, value] of Object.entries({ name, description, version, url }))
    if (typeof value !== "string" || value === "") throw refuse(`its card has no ${field}`);
  if (!URL.canParse(url)) throw refuse("its card has a url that cannot be parsed");
  if (!Array.isArray(skills)) throw refuse("its card has no skills");
  return {
    name,
    description,
    version,
    supportedInterfaces: ["JSONRPC", "HTTP+JSON"].map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: A2A_VERSION,
    })),
    capabilities: { streaming: true, pushNotifications, extendedAgentCard: false },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain"],
    skills,
    ...more,
  };
}
