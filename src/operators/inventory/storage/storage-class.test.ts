import assert from "node:assert/strict";
import { test } from "node:test";
import { rbdClass, storageClass, volume } from "../../../../test/support/samples/storage-samples.ts";
import { defaultClassOf, readStorageClass, readVolume, soldClasses, sumVolumes } from "./classes.ts";

function sell(clusterStorage: readonly string[]) {
  const classes = [
    rbdClass("beta3"),
    storageClass("beta1", "rancher.io/local-path"),
    storageClass("unlabelled", "rancher.io/local-path", {}, false),
    storageClass("foreign", "ebs.csi.aws.com"),
  ].map(readStorageClass);
  const byName = new Map(classes.map((each) => [each.name, each]));
  const { sold, conditions } = soldClasses(
    byName,
    { clusterStorage },
    sumVolumes([readVolume(volume("v", "gone", "1Gi"))], byName),
  );
  return { sold: sold.map(({ name }) => name), messages: conditions.map(({ message }) => message) };
}

test("a class is sold when it is configured, labelled and of a supported driver", () => {
  const { sold, messages } = sell(["beta1", "beta3", "foreign", "gone", "ram", "unlabelled"]);
  assert.deepEqual(sold, ["beta1", "beta3"]);
  assert.deepEqual(messages, [
    "the class foreign is provisioned by ebs.csi.aws.com, which is not supported",
    "the class gone is configured, but does not exist; 1 of its volumes still hold space",
    "the class unlabelled is configured, but lacks the label akash.network=true",
  ]);
});

test("of several default classes the newest is the one that claims get, and of two of one second the first by name", () => {
  const made = (name: string, creationTimestamp: string, mark = "storageclass.kubernetes.io/is-default-class") => {
    const { metadata, ...rest } = storageClass(name, "rancher.io/local-path");
    return readStorageClass({ ...rest, metadata: { ...metadata, creationTimestamp, annotations: { [mark]: "true" } } });
  };
  const plain = readStorageClass(storageClass("plain", "rancher.io/local-path"));
  const old = made("old", "2025-01-01T00:00:00Z", "storageclass.beta.kubernetes.io/is-default-class");
  const [a, b] = [made("a", "2026-01-01T00:00:00Z"), made("b", "2026-01-01T00:00:00Z")];
  assert.deepEqual(
    [[], [plain], [plain, old], [old, b], [b, old, a]].map((classes) => defaultClassOf(classes)),
    [undefined, undefined, "old", "b", "a"],
  );
});

test("an empty list sells nothing, and the labelled classes are named", () => {
  const { sold, messages } = sell([]);
  assert.deepEqual(sold, []);
  assert.equal(messages.length, 3);
  assert.match(messages[0] ?? "", /beta3 carries the label akash\.network, but cluster_storage/);
});
