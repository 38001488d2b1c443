import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { providerImage } from "../../lab/images.ts";
import { labIsMissing, outputOf, temporaryNamespace } from "./cluster.ts";

describe("our own image in the lab", { skip: labIsMissing }, () => {
  it("runs akash-provider with the arguments of the pod", async (t) => {
    const namespace = await temporaryNamespace(t);
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
    assert.equal(await outputOf(namespace, "version", { image: providerImage, args: ["--version"] }), `${version}\n`);
  });
});
