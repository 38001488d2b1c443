import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { createClient } from "redis";
import { shellImage } from "../../lab/images.ts";
import { network } from "../../lab/places.ts";
import { execute, labIsMissing, runPod, temporaryNamespace } from "./cluster.ts";

describe("the lab's Redis", { skip: labIsMissing }, () => {
  it("shows a pod what the host wrote", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "shell", { image: shellImage });
    const client = createClient({ url: `redis://${network.node}:${network.redisPort}` });
    await client.connect();
    const key = `test:${namespace}`;
    const value = randomUUID();
    t.after(async () => {
      await client.del(key);
      await client.close();
    });
    await client.set(key, value);

    const ask = `printf 'GET ${key}\\r\\nQUIT\\r\\n' | nc ${network.node} ${network.redisPort}`;
    assert.ok((await execute(namespace, "shell", "sh", "-c", ask)).includes(value));
  });
});
