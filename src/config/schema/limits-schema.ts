/** The schemas of `limits` and `timeouts`: what a client, an account and the whole process may use, and for how long. */
import { z } from 'zod'
import { attemptLimitNames } from '../../domain/identity/limits/attempt-limits.ts'
import { millisecondsSchema, secretSchema } from './value-schemas.ts'

export const limitsSchema = z
  .strictObject({
    /**
     * A Valkey or Redis server that counts requests per minute, so that limits are exact over several nodes: `valkey://`, `redis://`, or
     * encrypted `valkeys://`, `rediss://`. Null: each node counts on its own. If the server is unreachable, each node allows its share.
     */
    url: secretSchema.nullable().default(null),
    /** Requests per minute per IP address (IPv6: per /64), before authentication. */
    addressRpm: z.int().min(1).default(300),
    /** Body of a chat request at most. */
    chatBodyBytes: z
      .int()
      .min(1024)
      .default(10 * 1024 * 1024),
    /** Body of a request to `/v1/responses` or `/v1/messages` at most: agents send their whole conversation, images included. */
    agentBodyBytes: z
      .int()
      .min(1024)
      .default(32 * 1024 * 1024),
    /** Body of a request to `/v1/embeddings` at most. */
    embeddingBodyBytes: z
      .int()
      .min(1024)
      .default(4 * 1024 * 1024),
    /** Body of any other request at most. */
    otherBodyBytes: z
      .int()
      .min(1024)
      .default(256 * 1024),
    /** Body of an MCP message at most. */
    mcpBodyBytes: z
      .int()
      .min(1024)
      .default(4 * 1024 * 1024),
    /**
     * Bodies of one account that are being received, together, and those above 1 MiB until their turns end; always enough for one body.
     * Further ones are refused with `Retry-After` before they are read.
     */
    accountBodiesBytes: z
      .int()
      .min(1024)
      .default(64 * 1024 * 1024),
    /** The same for clients without an account (sign-in, OAuth), by IP address (IPv6: per /64). */
    addressBodiesBytes: z
      .int()
      .min(1024)
      .default(2 * 1024 * 1024),
    /** The same for all accounts of the process; an eighth of it is kept for bodies up to 128 KiB. */
    allBodiesBytes: z
      .int()
      .min(1024)
      .max(2 ** 30)
      .default(256 * 1024 * 1024),
    /** Maximum size of an upstream's response. */
    answerBytes: z
      .int()
      .min(1024)
      .default(64 * 1024 * 1024),
    /** API keys of one account at most. */
    keysPerAccount: z.int().min(1).default(20),
    /**
     * Limits on attempts at what could be guessed or flooded; names left out keep their defaults
     * (`src/domain/identity/limits/attempt-limits.ts`).
     */
    attempts: z
      .partialRecord(
        z.enum(attemptLimitNames),
        z.strictObject({
          /** Attempts allowed. */
          times: z.int().min(1),
          /** In any period of this length. */
          withinMs: millisecondsSchema,
        }),
      )
      .default({}),
    /** Tokens assumed per image in a prompt. */
    imageTokens: z.int().min(0).default(1_100),
    /**
     * How long a request above the plan's concurrency waits for one of the member's own to finish; as many wait as may run. 0: it is
     * refused at once.
     */
    concurrencyWaitMs: z.int().min(0).max(60_000).default(2_000),
    /** Maximum open connections; further ones are rejected. */
    connections: z.int().min(1).default(20_000),
    /**
     * Of these, the maximum per client address (an IPv6 /64); further ones are rejected. Trusted proxies and proxies on this machine
     * are exempt. With several workers the maximum is per worker.
     */
    connectionsPerAddress: z.int().min(1).default(1_000),
  })
  .prefault({})

export const timeoutsSchema = z
  .strictObject({
    /** Until the connection to an upstream is there. */
    connectMs: millisecondsSchema.default(10_000),
    /** From then until the upstream's answer begins; its head alone does not begin it. `upstreams.<name>.firstByteMs` is for one of them. */
    firstByteMs: millisecondsSchema.default(300_000),
    /**
     * Maximum silence of an upstream within its answer; comments, pings and events of progress end a silence too, up to `totalMs`.
     * `upstreams.<name>.idleMs` is for one of them.
     */
    idleMs: millisecondsSchema.default(300_000),
    /** The whole upstream call. */
    totalMs: millisecondsSchema.default(900_000),
    /** A client that reads nothing for this long counts as disconnected. */
    slowReaderMs: millisecondsSchema.default(60_000),
    /** Silence after which a stream is opened with a comment, and the interval of further comments. */
    heartbeatAfterMs: millisecondsSchema.default(10_000),
    /** Time between those comments. */
    heartbeatEveryMs: millisecondsSchema.default(15_000),
    /** On SIGTERM: how long running turns may continue. */
    drainMs: millisecondsSchema.default(30_000),
    /**
     * Of that, the maximum time in which new connections are still accepted, so that clients and load balancers notice the shutdown
     * before it happens. It ends early when nothing was requested for half of it; a load balancer that checks less often needs more.
     */
    drainNoticeMs: millisecondsSchema.default(2_000),
  })
  .prefault({})
