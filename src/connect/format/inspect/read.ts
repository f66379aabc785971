import type { Json } from "../../../session/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { Arrival, isTime } from "../trajectory/arrival.js";
import { beginning, type Fields, Foreign, own, without } from "../trajectory/foreign.js";
import { nameOf } from "../trajectory/name.js";
import { NOTES, SampleStory } from "./sample.js";
import { ArchiveFault, isZip, readZip } from "./zip.js";

export const inspect: ImportFormat = {
  name: "inspect",
  title: "Logs of Inspect (EvalLog 2), as JSON or as an .eval archive: a session for each sample and epoch",
  fits(source: Source): boolean {
    if (isZip(source.bytes)) return source.name.endsWith(".eval") || beginning(source).includes("_journal/");
    return (
      /"version"\s*:\s*2\b/.test(beginning(source, 1024)) &&
      /"(eval|status)"\s*:/.test(beginning(source, 4096))
    );
  },
  async read(source: Source): Promise<readonly Imported[]> {
    const foreign = new Foreign("inspect", source);
    return foreign.reading(() => {
      const { log, samples, others } = isZip(source.bytes) ? fromArchive(foreign) : fromJson(foreign);
      if (own(log, "version") !== 2) foreign.refuse("version", "only logs of version 2 are read");
      foreign.object(own(log, "eval"), "eval");
      if (samples.length === 0) return [logAlone(foreign, log, others)];
      const seen = new Set<string>();
      return samples.map((sample, place) => {
        const where = `samples[${place}]`;
        const [id, epoch] = [own(sample, "id"), own(sample, "epoch")];
        if ((typeof id !== "string" && typeof id !== "number") || typeof epoch !== "number")
          return foreign.refuse(where, "it has no id and epoch");
        const name = `${id}/${epoch}`;
        if (seen.has(name)) foreign.refuse(where, `sample ${id} of epoch ${epoch} is there twice`);
        seen.add(name);
        return new SampleStory(foreign, log, sample, where, others).tell(
          nameOf(source.name, id, epoch),
          name,
        );
      });
    });
  },
};

/** A log of an evaluation that ended before its first sample did: what it says about itself is all there is. */
function logAlone(foreign: Foreign, log: Fields, others: Fields | undefined): Imported {
  const spec = log.eval as Fields;
  const status = own(log, "status");
  const at = own(spec, "created");
  const arrival = Arrival.start(foreign, {
    name: "log",
    ...(isTime(at) && { at }),
    detail: { task: own(spec, "task") ?? null, model: own(spec, "model") ?? null, status: status ?? null },
  });
  arrival.keep(NOTES.log, log, "log");
  if (others !== undefined) arrival.keep(NOTES.archive, others, "archive");
  foreign.warnings.add(
    `The log has no samples${typeof status === "string" ? `: the status of the evaluation is ${status}` : ""}.`,
  );
  return arrival.imported(nameOf(foreign.source.name));
}

type Log = {
  readonly log: Fields;
  readonly samples: readonly Fields[];
  /** What else is in an archive. */
  readonly others?: Fields;
};

function fromJson(foreign: Foreign): Log {
  const log = foreign.object(foreign.json(), "");
  const samples = foreign.optional(own(log, "samples"), (value) => foreign.objects(value, "samples")) ?? [];
  return { log: without(log, "samples"), samples };
}

function fromArchive(foreign: Foreign): Log {
  const parsed = new Map<string, Json>();
  try {
    for (const [name, bytes] of readZip(foreign.source.bytes))
      parsed.set(
        name,
        name.endsWith(".json") ? foreign.json(foreign.text(bytes, name), name) : foreign.text(bytes, name),
      );
  } catch (error) {
    if (error instanceof ArchiveFault) return foreign.refuse("", error.message, error);
    throw error;
  }
  const header = parsed.get("header.json") ?? parsed.get("_journal/start.json");
  const isSample = (name: string): boolean => /^samples\/.*\.json$/.test(name);
  const rest = [...parsed].filter(([name]) => name !== "header.json" && !isSample(name));
  return {
    log: foreign.object(header, "header.json"),
    samples: [...parsed].flatMap(([name, value]) => (isSample(name) ? [foreign.object(value, name)] : [])),
    others: Object.fromEntries(rest),
  };
}
