import type { Memory } from "../../memory/index.js";
import { digestOf, type FactId, type Json } from "../../session/index.js";

/** A node of the server's graph. */
export type Entity = {
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
};

const NAME = /^openrath:([0-9a-f]{64})$/;
/** Names the memory, its version and the observation that is its text: others may have added their own to the entity. */
const TAG = /^openrath memory=([0-9a-f]{64}) version=([0-9a-f]{64}) text=([0-9a-f]{64})$/;
const LONGEST = 4_000;

export function nameOf(memory: FactId): string {
  return `openrath:${memory}`;
}

export function memoryOf(name: string): FactId | undefined {
  return NAME.exec(name)?.[1];
}

export function entityOf({ id, version, text }: Pick<Memory, "id" | "version" | "text">): Entity {
  const said = text.toWellFormed();
  return {
    name: nameOf(id),
    entityType: "openrath-memory",
    observations: [said, `openrath memory=${id} version=${version} text=${digestOf(said)}`],
  };
}

/** The observations of an entity that we have made: tags, and the texts that they name. */
export function oursIn(entity: Entity): readonly string[] {
  const memory = memoryOf(entity.name);
  const tags = entity.observations.filter((one) => memory !== undefined && TAG.exec(one)?.[1] === memory);
  const texts = new Set(tags.map((one) => TAG.exec(one)?.[3]));
  return entity.observations.filter((one) => tags.includes(one) || texts.has(digestOf(one)));
}

/** What an entity says: of ours the newest text, of others what is known about it, as much as anybody would read. */
export function saidIn(entity: Entity): {
  readonly text: string;
  readonly memory?: FactId;
  readonly version?: FactId;
} {
  const [, memory, version, text] =
    entity.observations.map((one) => TAG.exec(one)).findLast((tag) => tag?.[1] === memoryOf(entity.name)) ??
    [];
  const said = entity.observations.find((one) => text !== undefined && digestOf(one) === text);
  if (memory !== undefined && version !== undefined && said !== undefined)
    return { text: said, memory, version };
  const known = entity.observations.filter((one) => !TAG.test(one));
  return { text: `${entity.name}: ${known.join("; ")}`.slice(0, LONGEST).toWellFormed() };
}

/** The entities of an answer; undefined where it is none. */
export function entitiesIn(answer: unknown): readonly Entity[] | undefined {
  const list = (answer as { readonly entities?: Json } | null)?.entities;
  if (!Array.isArray(list)) return undefined;
  const fits = list.every(
    (one) =>
      typeof one?.name === "string" &&
      typeof one.entityType === "string" &&
      Array.isArray(one.observations) &&
      one.observations.every((said: unknown) => typeof said === "string"),
  );
  return fits ? (list as readonly Entity[]) : undefined;
}
