import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { providerImage } from "../../lab/images.ts";
import { temporaryFolder } from "../support/folder.ts";
import { writeScript } from "../support/samples/price-script.ts";
import { labIsMissing, outputOf, temporaryNamespace } from "./cluster.ts";

/** With each of the programs that operators' price scripts call. */
const priceScript = `
cpu=$(jq --raw-output '[.resources[] | .cpu * .count] | add')
price=$(echo "scale=2; $cpu * 1.5 / 1000" | bc --mathlib)
curl --silent --fail --cacert /var/run/secrets/kubernetes.io/serviceaccount/ca.crt https://kubernetes.default.svc/version > /tmp/answer || exit 1
bash -c 'set -o pipefail; [[ -s /tmp/answer ]]' || exit 1
echo "$price" | awk '{ printf "%.1f\\n", $1 * 2 }'`;

describe("our own image in the lab", { skip: labIsMissing, concurrency: true }, () => {
  it("runs akash-provider with the arguments of the pod", async (t) => {
    const namespace = await temporaryNamespace(t);
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
    assert.equal(await outputOf(namespace, "version", { image: providerImage, args: ["--version"] }), `${version}\n`);
  });

  it("has the programs that price scripts call, and runs as any user ID", async (t) => {
    const namespace = await temporaryNamespace(t);
    const script = readFileSync(writeScript(temporaryFolder(t), priceScript), "utf8");
    const order = JSON.stringify({
      resources: [
        { cpu: 500, count: 2 },
        { cpu: 1000, count: 1 },
      ],
    });
    const steps = [
      `cat > /tmp/price.sh <<'END'\n${script}END`,
      "chmod +x /tmp/price.sh",
      `echo '${order}' | /tmp/price.sh`,
    ];
    const container = { image: providerImage, command: ["/bin/sh", "-ec", [...steps, "id --user"].join("\n")] };
    assert.equal(await outputOf(namespace, "price", container), "6.0\n65532\n");
  });

  it("brings the definitions of the custom resources", async (t) => {
    const namespace = await temporaryNamespace(t);
    const container = { image: providerImage, command: ["ls", "/app/deploy"] };
    assert.match(await outputOf(namespace, "deploy", container), /operator-inventory\.yaml/);
  });
});
