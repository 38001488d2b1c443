import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import {
  aminoEntryOf,
  encryptItem,
  item,
  known,
  localEntry,
  recordOf,
  type SampleEntry,
  writeKeyring,
  writeSecret,
} from "../../../test/support/samples/keyring-samples.ts";
import { openKey } from "./open-key.ts";
import { createSigner } from "./signer.ts";

const key = Buffer.alloc(32, 7);
const otherKey = Buffer.alloc(32, 8);
const { address } = createSigner(key);
const passphrase = "open sesame";

type Backend = "test" | "file";

/** A keyring with these entries, and how to open a key of it. */
async function keyringWith(t: TestContext, backend: Backend, entries: readonly SampleEntry[]) {
  const keyringDir = temporaryFolder(t);
  const folder = await writeKeyring(keyringDir, backend, backend === "test" ? "test" : passphrase, entries);
  const open = async (from?: string, given: string | undefined = passphrase) => {
    const settings = { from, keyringBackend: backend, keyringDir, passphrase: given };
    return (await openKey(settings, () => undefined)).signer.address;
  };
  return { folder, open };
}

test("a key is found by its name and by its address, in both back ends", async (t) => {
  for (const backend of ["test", "file"] as const) {
    const { open } = await keyringWith(t, backend, [localEntry("provider", key), localEntry("other", otherKey)]);
    assert.equal(await open("provider"), address);
    assert.equal(await open(address), address);
    assert.equal(await open("other"), createSigner(otherKey).address);
  }
});

test("a keyring that the network's own tools wrote opens", async (t) => {
  const keyringDir = temporaryFolder(t);
  const settings = { keyringDir, passphrase: known.passphrase };
  const file = await writeKeyring(keyringDir, "file", "replaced below", []);
  writeSecret(file, "keyhash", known.keyhash);
  writeSecret(file, "provider.info", known.entry);
  const opened = await openKey({ ...settings, keyringBackend: "file", from: "provider" }, () => undefined);
  assert.equal(opened.signer.address, known.address);

  const trial = await writeKeyring(keyringDir, "test", "test", []);
  writeSecret(trial, "old.info", known.aminoEntry);
  const old = await openKey({ ...settings, keyringBackend: "test", from: "old" }, () => undefined);
  assert.equal(old.signer.address, known.address);
});

test("an entry of an old keyring, in amino, is a key as well", async (t) => {
  const { open } = await keyringWith(t, "test", [aminoEntryOf("old", key)]);
  assert.equal(await open("old"), address);
  assert.equal(await open(address), address);
});

test("a name may hold slashes, percent signs and letters of any alphabet", async (t) => {
  const name = "a/b%2F ключ..";
  const { open } = await keyringWith(t, "test", [localEntry(name, key)]);
  assert.equal(await open(name), address);
  await assert.rejects(open("nobody"), (error: Error) => error.message.endsWith(`it has: ${name}`));
});

test("a name that looks like the beginning of an address is a name", async (t) => {
  const { open } = await keyringWith(t, "test", [localEntry("akash1", key)]);
  assert.equal(await open("akash1"), address);
});

test("an unknown name or address → the error lists the names", async (t) => {
  const { open } = await keyringWith(t, "test", [localEntry("provider", key), localEntry("other", otherKey)]);
  const rejection = { code: "AKP_KEY_UNKNOWN", advice: /--from/ };
  await assert.rejects(open("nobody"), { ...rejection, message: /no key named "nobody"; it has: other, provider$/ });
  await assert.rejects(open("../provider"), rejection);
  const unknown = createSigner(Buffer.alloc(32, 9)).address;
  await assert.rejects(open(unknown), { ...rejection, message: new RegExp(`no key with the address ${unknown}`) });
});

test("of many names a message holds the first twenty", async (t) => {
  const { folder, open } = await keyringWith(t, "test", []);
  for (let at = 10; at < 35; at += 1) writeSecret(folder, `key${at}.info`, "");
  await assert.rejects(open("nobody"), /it has: key10, .*, key29 and 5 more$/);
});

test("a mistyped address → the error says so", async (t) => {
  const { open } = await keyringWith(t, "test", [localEntry("provider", key)]);
  await assert.rejects(open(`${address.slice(0, -1)}q`), { code: "AKP_VALUE_MALFORMED", message: /checksum/ });
});

test("no --from → the error lists the names", async (t) => {
  const { open } = await keyringWith(t, "test", [localEntry("provider", key)]);
  await assert.rejects(open(), { code: "AKP_KEY_NOT_CHOSEN", message: /it has: provider$/ });
  const empty = await keyringWith(t, "test", []);
  await assert.rejects(empty.open(), { code: "AKP_KEY_NOT_CHOSEN", message: /it has: none$/ });
});

test("a wrong pass-phrase → the error says so, with a keyhash and without", async (t) => {
  const { folder, open } = await keyringWith(t, "file", [localEntry("provider", key)]);
  const rejection = { code: "AKP_KEY_PASSPHRASE_WRONG" };
  await assert.rejects(open("provider", "shut sesame"), { ...rejection, message: /does not open the keyring/ });
  for (const noHash of ["not a hash", known.keyhash.replace("$10$", "$31$")]) {
    writeSecret(folder, "keyhash", noHash);
    await assert.rejects(open("provider", "shut sesame"), { ...rejection, message: /does not open .*provider\.info$/ });
  }
  rmSync(join(folder, "keyhash"));
  await assert.rejects(open("provider", "shut sesame"), { ...rejection, message: /does not open .*provider\.info$/ });
  assert.equal(await open("provider"), address);
});

test("a missing pass-phrase → an error once there is a key that needs it", async (t) => {
  const keyringDir = temporaryFolder(t);
  await writeKeyring(keyringDir, "file", passphrase, [localEntry("provider", key)]);
  const open = (from: string) => openKey({ from, keyringBackend: "file", keyringDir }, () => undefined);
  await assert.rejects(open("provider"), { code: "AKP_KEY_PASSPHRASE_MISSING", message: /the keyring .*keyring-file/ });
  await assert.rejects(open("nobody"), { code: "AKP_KEY_UNKNOWN" });
});

test("a key that cannot sign → rejected with the reason", async (t) => {
  const ed25519 = { typeUrl: "/cosmos.crypto.ed25519.PrivKey", value: Buffer.alloc(66) };
  const kinds: [kind: Parameters<typeof recordOf>[2], message: RegExp][] = [
    [{ offline: {} }, /only its public half/],
    [{ multi: {} }, /multi-signature/],
    [{ ledger: { path: undefined } }, /Ledger/],
    [{ local: { privKey: ed25519 } }, /no secp256k1 key/],
  ];
  for (const [kind, message] of kinds) {
    const { open } = await keyringWith(t, "test", [{ name: "it", record: recordOf("it", key, kind) }]);
    await assert.rejects(open("it"), { code: "AKP_KEY_UNUSABLE", message });
  }
});

test("a damaged entry is reported as damaged, not as a wrong pass-phrase", async (t) => {
  const { folder, open } = await keyringWith(t, "file", [localEntry("provider", key)]);
  const record = Buffer.from(recordOf("provider", key, {}));
  const good = await encryptItem(item("provider.info", record), passphrase);
  const [header, wrapped, iv, content = "", tag] = good.split(".");
  const flipped = (content.startsWith("A") ? "B" : "A") + content.slice(1);
  const cases: [token: string, reason: RegExp][] = [
    ["", /not an encrypted item/],
    [known.mnemonic, /not an encrypted item/],
    [[header, wrapped, iv, content].join("."), /not an encrypted item/],
    [["e30", wrapped, iv, content, tag].join("."), /not encrypted with/],
    [["!", wrapped, iv, content, tag].join("."), /not encrypted with/],
    [[header, wrapped, iv, flipped, tag].join("."), /changed after it was written/],
    [[header, wrapped, iv, content, ""].join("."), /changed after it was written/],
    [[header, "", iv, content, tag].join("."), /changed after it was written/],
    [[header, "AAAA", iv, content, tag].join("."), /another pass-phrase than its keyring/],
    [await encryptItem(item("x", record), "another"), /another pass-phrase than its keyring/],
    [await encryptItem(item("x", record), passphrase, { rounds: 100_000_000 }), /not encrypted with/],
    [await encryptItem(item("x", record), passphrase, { alg: "PBES2-HS512+A256KW" }), /not encrypted with/],
    [await encryptItem(Buffer.from(known.mnemonic), passphrase), /no item of a keyring/],
    [await encryptItem(Buffer.from('{"Data":7}'), passphrase), /no item of a keyring/],
    [await encryptItem(item("x", Buffer.from(known.mnemonic)), passphrase), /no record of a key/],
    [await encryptItem(item("x", record), passphrase), /no record of a key/],
    [await encryptItem(item("x", Buffer.alloc(0)), passphrase), /no record of a key/],
  ];
  for (const [token, message] of cases) {
    writeFileSync(join(folder, "provider.info"), token);
    await assert.rejects(open("provider"), { code: "AKP_KEYRING_ENTRY_DAMAGED", message }, token);
  }
});

test("an entry of another back end is reported as such, since the back end test accepts any pass-phrase", async (t) => {
  const { folder, open } = await keyringWith(t, "test", []);
  writeSecret(folder, "provider.info", known.entry);
  const message = /another pass-phrase than its keyring/;
  await assert.rejects(open("provider"), { code: "AKP_KEYRING_ENTRY_DAMAGED", message });
});

test("the error of a missing keyring names the path", async (t) => {
  const { folder, open } = await keyringWith(t, "test", [localEntry("provider", key)]);
  renameSync(folder, `${folder}-moved`);
  const message = new RegExp(`^the keyring ${folder} cannot be read: ENOENT`);
  await assert.rejects(open("provider"), { code: "AKP_KEYRING_MISSING", message, advice: /--keyring-dir/ });
});

test("an address file that leads to another key is not believed", async (t) => {
  const { folder, open } = await keyringWith(t, "test", [localEntry("provider", key), localEntry("other", otherKey)]);
  writeSecret(folder, "provider.info", await encryptItem(item("x", localEntry("provider", otherKey).record), "test"));
  await assert.rejects(open(address), { code: "AKP_KEY_ADDRESS_DIFFERS" });
});
