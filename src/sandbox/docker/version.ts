import { SandboxUnavailableError } from "../error.js";

/** What an engine says of its versions. */
export type Version = {
  readonly Version?: string;
  readonly ApiVersion?: string;
  readonly MinAPIVersion?: string;
  readonly Components?: readonly { readonly Name: string }[];
};

/** The version that this client was written against; another one is spoken where an engine does not know it. */
const PREFERRED = [1, 41] as const;
const OLDEST = [1, 40] as const;

/** The version to speak: the one that this was written against, or the nearest one that the engine knows. */
export function chosen({ ApiVersion, MinAPIVersion }: Version): string {
  const newest = partsOf(ApiVersion);
  const oldest = partsOf(MinAPIVersion) ?? OLDEST;
  if (newest === undefined || isBefore(newest, OLDEST))
    throw new SandboxUnavailableError(
      "docker",
      `the engine speaks version ${String(ApiVersion)} of its interface, and ${OLDEST.join(".")} is needed`,
      "install a newer engine: Docker 19.03 or Podman 3, or later",
    );
  const wanted = isBefore(newest, PREFERRED) ? newest : isBefore(PREFERRED, oldest) ? oldest : PREFERRED;
  return wanted.join(".");
}

type Parts = readonly [number, number];

function partsOf(version: string | undefined): Parts | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

function isBefore(one: Parts, other: Parts): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
}
