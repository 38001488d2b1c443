import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { Bip39 } from "@cosmjs/crypto";
import fc from "fast-check";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { runs } from "../../../test/support/runs.ts";
import {
  armor,
  encryptItem,
  item,
  known,
  localEntry,
  writeKeyring,
  writeSecret,
} from "../../../test/support/samples/keyring-samples.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createRedactor } from "../../runtime/redact.ts";
import { checkMnemonic, keyOfMnemonic, mnemonicWords } from "./mnemonic.ts";
import { type KeySettings, openKey } from "./open-key.ts";
import { createSigner } from "./signer.ts";

const keyring = { keyringBackend: "os", keyringDir: "/nowhere" };
const deaf = () => undefined;

test("a key file is used even where a keyring is set, and --from then is the address it must have", async (t) => {
  const keyFile = writeSecret(temporaryFolder(t), "key", known.mnemonic);
  for (const from of [undefined, "provider", known.address]) {
    assert.equal((await openKey({ ...keyring, keyFile, from }, deaf)).signer.address, known.address);
  }
  await assert.rejects(openKey({ ...keyring, keyFile, from: known.otherAddress }, deaf), {
    code: "AKP_KEY_ADDRESS_DIFFERS",
    message: `the key in ${keyFile} is that of ${known.address}, not of ${known.otherAddress}`,
    advice: /--key-account/,
  });
  const derivation = { coinType: 118, account: 3, index: 7 };
  const opened = await openKey({ ...keyring, keyFile, derivation, from: known.otherAddress }, deaf);
  assert.equal(opened.signer.address, known.otherAddress);
});

test("a keyring that needs a desktop is rejected with what to do instead", async () => {
  for (const backend of ["os", "kwallet", "pass", "keyctl", "memory", "constructor"]) {
    await assert.rejects(openKey({ ...keyring, keyringBackend: backend, from: "provider" }, deaf), {
      code: "AKP_KEYRING_BACKEND_UNSUPPORTED",
      advice: new RegExp(`keys export NAME --keyring-backend ${backend}.*--key-file.*file or test`),
    });
  }
});

test("the error of an unreadable file names its path", async (t) => {
  const folder = temporaryFolder(t);
  for (const [settings, path] of [
    [{ keyFile: folder }, folder],
    [{ keyFile: join(folder, "gone") }, join(folder, "gone")],
  ] as const) {
    await assert.rejects(openKey({ ...keyring, ...settings }, deaf), (error) => {
      assert.ok(ProviderError.is(error, "AKP_KEY_FILE_UNREADABLE"));
      assert.equal(error.details["path"], path);
      return true;
    });
  }
});

test("the error of a wrong pass-phrase names its source", async (t) => {
  const keyFile = writeSecret(temporaryFolder(t), "key", known.argon2Export);
  await assert.rejects(openKey({ ...keyring, keyFile, passphrase: "wrong" }, deaf), {
    message: /from AP_KEY_PASSPHRASE/,
  });
});

test("a file that every user may read is warned of once; the group is not everybody", async (t) => {
  const folder = temporaryFolder(t);
  const keyFile = writeSecret(folder, "key", known.argon2Export);
  const warningsWith = async (mode: number) => {
    chmodSync(keyFile, mode);
    return (await openKey({ ...keyring, keyFile, passphrase: known.passphrase }, deaf)).warnings;
  };
  assert.deepEqual(await warningsWith(0o440), []);
  const [warning = "", ...more] = await warningsWith(0o644);
  assert.ok(warning.includes(keyFile) && warning.includes("chmod 600"));
  assert.deepEqual(more, []);
});

test("the files of a keyring are warned of as well", async (t) => {
  const keyringDir = temporaryFolder(t);
  const folder = await writeKeyring(keyringDir, "test", "test", [localEntry("provider", Buffer.alloc(32, 7))]);
  chmodSync(join(folder, "provider.info"), 0o604);
  const { warnings } = await openKey({ keyringBackend: "test", keyringDir, from: "provider" }, deaf);
  assert.equal(warnings.length, 1);
  assert.ok(warnings[0]?.includes("provider.info"));
});

test("mnemonic, key and pass-phrase are registered as secrets, so that no log shows them", async (t) => {
  const folder = temporaryFolder(t);
  const redactor = createRedactor();
  const secrets = new Set<string>();
  const onSecret = (secret: string) => {
    secrets.add(secret);
    redactor.register(secret);
  };
  const mnemonicFile = writeSecret(folder, "mnemonic", known.mnemonic.toUpperCase());
  const exportFile = writeSecret(folder, "export", known.argon2Export);
  await openKey({ ...keyring, keyFile: mnemonicFile }, onSecret);
  await openKey({ ...keyring, keyFile: exportFile, passphrase: known.passphrase }, onSecret);
  const key = Buffer.from(await keyOfMnemonic(checkMnemonic(mnemonicWords(known.mnemonic), "a test")));
  const asRead = [known.mnemonic, known.mnemonic.toUpperCase(), known.passphrase, key.toString("hex")];
  for (const secret of asRead) assert.ok(secrets.has(secret));
  for (const secret of [...asRead, key.toString("base64")]) {
    assert.ok(!redactor.text(`it is ${secret}.`).includes(secret));
  }
});

/** Ways to spoil a text: nothing, a lost tail, a changed character, a line in front. */
const damage = fc.oneof(
  fc.constant((text: string) => text),
  fc.nat(99).map((share) => (text: string) => text.slice(0, Math.floor((text.length * share) / 100))),
  fc.record({ share: fc.nat(99), sign: fc.constantFrom(..."Aaz09 .={\n") }).map(({ share, sign }) => (text: string) => {
    const at = Math.floor((text.length * share) / 100);
    return text.slice(0, at) + sign + text.slice(at + 1);
  }),
  fc.constantFrom("key: ", "# ", "-----BEGIN X-----\n").map((front) => (text: string) => front + text),
);

test("however a source is damaged, no error shows a secret, and none is of an unforeseen kind", async (t) => {
  const secrets = fc.record({
    entropy: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    passphrase: fc.stringMatching(/^[a-z0-9]{20}$/),
  });
  const kind = fc.constantFrom("mnemonic", "hex", "armored", "test", "file", "item", "foreign");
  await fc.assert(
    fc.asyncProperty(secrets, kind, damage, fc.boolean(), async ({ entropy, passphrase }, kind, spoil, isRight) => {
      const mnemonic = Bip39.encode(entropy);
      const key = await keyOfMnemonic(mnemonic);
      const settings = await writeSource(temporaryFolder(t), { kind, mnemonic: `${mnemonic}`, key, passphrase, spoil });
      const given = isRight ? passphrase : `${passphrase.slice(1)}x`;
      try {
        const { signer } = await openKey({ ...settings, passphrase: given }, deaf);
        assert.equal(signer.address.length, createSigner(key).address.length);
      } catch (error) {
        assert.ok(error instanceof ProviderError, inspect(error));
        const seen = [
          inspect(error, { depth: Infinity, showHidden: true }),
          error.advice,
          JSON.stringify(error),
        ].join();
        const words = `${mnemonic}`.split(" ");
        const pairs = words.slice(1).map((word, at) => `${words[at]} ${word}`);
        const redactor = createRedactor();
        for (const secret of [...pairs, key, key.join(", "), passphrase, given]) redactor.register(secret);
        assert.equal(redactor.text(seen), seen, kind);
      }
    }),
    { numRuns: runs(40, 2000) },
  );
});

interface Source {
  readonly kind: string;
  readonly mnemonic: string;
  readonly key: Uint8Array;
  readonly passphrase: string;
  readonly spoil: (text: string) => string;
}

async function writeSource(folder: string, { kind, mnemonic, key, passphrase, spoil }: Source): Promise<KeySettings> {
  const keyFile = (text: string) => ({ ...keyring, keyFile: writeSecret(folder, "key", spoil(text)) });
  switch (kind) {
    case "mnemonic":
      return keyFile(mnemonic);
    case "hex":
      return keyFile(Buffer.from(key).toString("hex"));
    case "armored":
      // Of no known kind, so that nothing slow is done.
      return keyFile(armor("TENDERMINT PRIVATE KEY", { kdf: "none", salt: "00" }, key));
    case "foreign":
      return keyFile(JSON.stringify({ mnemonic, key: Buffer.from(key).toString("base64"), passphrase }));
    case "item": {
      const data = Buffer.from(item("provider.info", localEntry("provider", key).record)).toString();
      const path = await writeKeyring(folder, "test", "test", []);
      writeSecret(path, "provider.info", await encryptItem(Buffer.from(spoil(data)), "test"));
      return { keyringBackend: "test", keyringDir: folder, from: "provider" };
    }
    default: {
      const backend = kind === "test" ? "test" : "file";
      const entry = localEntry("provider", key);
      const record = Buffer.from(spoil(Buffer.from(entry.record).toString("latin1")), "latin1");
      await writeKeyring(folder, backend, backend === "test" ? "test" : passphrase, [{ name: "provider", record }]);
      return { keyringBackend: backend, keyringDir: folder, from: "provider" };
    }
  }
}
