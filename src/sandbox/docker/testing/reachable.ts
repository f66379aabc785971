import { existsSync } from "node:fs";
import { Engine, usualSockets } from "../engine.js";
import { hasImage, importImage } from "./image.js";

/**
 * An engine to test with, and an image in it: the one of OPENRATH_DOCKER_SOCKET, or the first usual one that answers. The
 * image is OPENRATH_DOCKER_IMAGE, or a small one that is made of this machine's own programs.
 */
export async function reachable(): Promise<{
  readonly socket: string | undefined;
  readonly image: string;
  /** Whether the image was put there for these tests. */
  readonly isMade?: boolean;
  /** Why there is none. */
  readonly why?: string;
}> {
  const asked = process.env.OPENRATH_DOCKER_SOCKET;
  const image = process.env.OPENRATH_DOCKER_IMAGE ?? "openrath-test";
  const found = asked ?? usualSockets().find((path) => existsSync(path));
  if (found === undefined)
    return { socket: undefined, image, why: "skipped: no container engine here; npm run docker starts one" };
  try {
    await Engine.open(found, 10_000);
    const isMade = !(await hasImage(found, image));
    if (isMade) await importImage(found, image);
    return { socket: found, image, isMade };
  } catch (error) {
    // Who names a socket wants to know why it does not work.
    if (asked !== undefined) throw error;
    return {
      socket: undefined,
      image,
      why: `skipped: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
