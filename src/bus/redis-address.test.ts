import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../runtime/errors.ts";
import { redisAddress, sentinelAddresses, showAddress } from "./redis-address.ts";

const plain = { host: "127.0.0.1", port: 6379, tls: false, username: undefined, password: undefined, database: 0 };

test("a Redis URL says where, as whom, in which database and whether over TLS", () => {
  assert.deepEqual(redisAddress({}), plain);
  assert.deepEqual(redisAddress({ url: "rediss://me:p%40ss@redis.example.com:7000/4" }), {
    host: "redis.example.com",
    port: 7000,
    tls: true,
    username: "me",
    password: "p@ss",
    database: 4,
  });
  assert.deepEqual(redisAddress({ url: "redis://[::1]" }), { ...plain, host: "::1" });
});

test("a user and a password given beside the URL win", () => {
  const { username, password } = redisAddress({ url: "redis://a:b@host", username: "c", password: "d" });
  assert.deepEqual([username, password], ["c", "d"]);
});

test("Sentinels are host and port, or addresses of their own", () => {
  const [bare, full] = sentinelAddresses({
    sentinels: ["10.0.0.1", "rediss://:word@10.0.0.2:5"],
    password: "not theirs",
  });
  assert.deepEqual(bare, { ...plain, host: "10.0.0.1", port: 26379 });
  assert.deepEqual(full, { ...plain, host: "10.0.0.2", port: 5, tls: true, password: "word" });
});

test("an address is shown without its password", () => {
  assert.equal(showAddress(redisAddress({ url: "redis://me:word@host:1" })), "host:1");
  assert.equal(showAddress(redisAddress({ url: "redis://[::1]:1" })), "[::1]:1");
});

test("a wrong address is refused without repeating the password in it", () => {
  for (const url of ["http://me:word@host", "me:word@host", "redis://me:word@host/first", "redis://"]) {
    assert.throws(
      () => redisAddress({ url }),
      (error) => {
        assert.ok(ProviderError.is(error, "AKP_VALUE_MALFORMED"));
        assert.doesNotMatch(`${error.message} ${error.advice} ${JSON.stringify(error.details)}`, /word/);
        return true;
      },
    );
  }
});
