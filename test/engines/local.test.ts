import { conformanceOf } from "./testkit.js";

conformanceOf("local", async () => ({}));
