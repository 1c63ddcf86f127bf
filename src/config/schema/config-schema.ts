/** The schema of `gateway.config.ts`: every field with its default and its meaning. Unknown keys are rejected. */
import { z } from 'zod'
import type { AnyPlugin } from '../../exchange/plugins/plugin.ts'
import { backupSchema } from './backup-schema.ts'
import { limitsSchema, timeoutsSchema } from './limits-schema.ts'
import { notificationSchema } from './notification-schema.ts'
import { packSchema, paymentSchema } from './payment-schema.ts'
import { signInSchema } from './sign-in-schema.ts'
import { upstreamSchema } from './upstream-schema.ts'
import { exactUrlSchema, millisecondsSchema, originSchema, secretSchema, urlSchema } from './value-schemas.ts'
import { boostSchema, planSchema, productSchema, tierSchema, costSchema } from './catalog-schema.ts'

const contactUrlSchema = z.string().regex(/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/, 'is no mailto: or https: address')
const legalTextSchema = z.strictObject({
  /** In English: a Markdown file, shown as a page of the site, or an `https://` address. */
  en: z.string().min(1).nullable().default(null),
  /** In Chinese; where one language has no text, the other one's is shown. */
  zh: z.string().min(1).nullable().default(null),
})
const aliasesSchema = z.record(z.string().min(1).max(128), z.string().min(1)).default({})
const hostSchema = z.string().min(1)

export const configSchema = z.strictObject({
  brand: z
    .strictObject({
      /** Short name in headers, cookies, key prefixes and product ids; choose it before the first member. */
      slug: z.string().regex(/^[a-z][a-z0-9]{1,15}$/),
      /** Shown to members. */
      name: z.string().min(1),
      /** Where members install the command line from: a tarball of this package (`npm pack`), shown on the website. */
      cliPackageUrl: urlSchema.nullable().default(null),
    })
    .prefault({ slug: 'svc', name: 'svc' }),
  /** What the website shows of its operator. */
  site: z
    .strictObject({
      /** Where members reach the operator, for example to change their plan: `mailto:` or `https://`. Null: no such link is shown. */
      contactUrl: contactUrlSchema.nullable().default(null),
      /** Terms of service. */
      terms: legalTextSchema.prefault({}),
      /** Privacy notice. */
      privacy: legalTextSchema.prefault({}),
      /**
       * Whether `/status` shows anyone how each product did in the last 24 hours and 30 days, from members' turns. Sums of turns are written then
       * also where no console can be opened.
       */
      status: z.boolean().default(false),
    })
    .prefault({}),
  listen: z.strictObject({
    /** Address to listen on; `0.0.0.0` or `::` for all. */
    host: hostSchema,
    /** 0 is any free port. */
    port: z.int().min(0).max(65_535),
    /** Files with a certificate and its key enable HTTPS with HTTP/2. Null: plain HTTP/1.1, for use behind a proxy. */
    tls: z
      .strictObject({
        /** File with the certificate chain, PEM. */
        cert: z.string().min(1),
        /** File with the private key, PEM. */
        key: z.string().min(1),
      })
      .nullable()
      .default(null),
    /** Origin of the website; null: the address the server listens on. It is never taken from a request. */
    siteUrl: originSchema.nullable().default(null),
    /** Origin of the API; null: the same as the website. */
    baseUrl: originSchema.nullable().default(null),
    /** Addresses and CIDRs whose X-Forwarded-For is trusted. */
    trustedProxies: z.array(z.string()).default([]),
  }),
  /** Where the console and the operator API are. */
  console: z
    .strictObject({
      /** Their own origin, such as `https://console.example.com`; the members' one then has neither. Null: they are on the website's. */
      origin: originSchema.nullable().default(null),
      /** Addresses and CIDRs of clients that reach them; for others there is nothing. Empty: all. */
      networks: z.array(z.string()).default([]),
    })
    .prefault({}),
  /**
   * Worker threads around one ledger. `'auto'` depends on the cores and the memory: one worker on two cores or fewer, and for each
   * further one 280 MiB above 650. Rate limits, quotas and concurrency limits are exact over all workers. Connections, and an upstream's
   * connections and queue, are divided among them.
   */
  workers: z
    // Any text as a type, so that a value from the environment needs no cast.
    .union([z.int(), z.string()])
    .refine(
      (value) => value === 'auto' || /^(?:[1-9]|[1-5]\d|6[0-4])$/.test(String(value)),
      "must be 'auto' or a whole number from 1 to 64",
    )
    .transform((value): number | 'auto' => (value === 'auto' ? value : Number(value)))
    .default('auto'),
  store: z.strictObject({
    /** Directory for the exclusive use of this server: database, images, outgoing email; with `url`, only data that this node may lose. */
    dataDir: z.string().min(1),
    /**
     * A PostgreSQL database shared by any number of nodes: `postgres://user:password@host,other-host/database`. The writable host is found
     * among those named. Null: one SQLite file in `dataDir`, and one server.
     */
    url: secretSchema.nullable().default(null),
    /** With `url`: the installation's secret (32 bytes in base64) to keep it out of the database; the same on every node. */
    secretKey: secretSchema.nullable().default(null),
    /** How long ended turns stay in the turn log. Their ledger entries are kept forever. */
    keepTurnsForDays: z.int().min(1).default(90),
  }),
  /** Backups on a schedule; null: only `svc-gateway backup FILE` writes one. With `store.url` use PostgreSQL's own tools. */
  backup: backupSchema,
  /** Time zone in which days, weeks and months begin. */
  timeZone: z.string().default('UTC').refine(isTimeZone, 'is not a time zone; use one such as UTC or Asia/Shanghai'),
  upstreams: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), upstreamSchema),
  products: z.record(z.string().min(1), productSchema),
  /** API formats other than chat completions. */
  apiFormats: z
    .strictObject({
      responses: z
        .strictObject({
          /**
           * Products by other model names, for programs that name models of their own; `*` stands for any characters, and the first match
           * decides. Ids of products are no aliases.
           */
          aliases: aliasesSchema,
        })
        .prefault({}),
      messages: z
        .strictObject({
          /** As for `responses`. */
          aliases: aliasesSchema,
        })
        .prefault({}),
      gemini: z
        .strictObject({
          /** As for `responses`. */
          aliases: aliasesSchema,
          /**
           * Whether clients may send their key in the address, as `?key=`. Danger: every proxy before the gateway writes addresses to its
           * log.
           */
          keyInAddress: z.boolean().default(false),
        })
        .prefault({}),
    })
    .prefault({}),
  /** Price per tier: dollars per million tokens, and the discount. */
  prices: z.strictObject({
    light: tierSchema,
    flagship: tierSchema,
  }),
  /** Each plan gets its id. */
  plans: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), planSchema).transform(addIds),
  /** Plan of a new account. */
  defaultPlan: z.string().default('free'),
  /** Credits that members buy besides a plan. */
  packs: z.array(packSchema).default([]),
  /** How members pay for plans and packs; without a provider nothing is sold, and prices are only shown. */
  payments: paymentSchema,
  boosts: z
    .strictObject({
      checkin: boostSchema.prefault({ credits: 5_000, days: 7 }),
      invite: boostSchema
        .extend({
          /** Paid invitations of one member a month; further ones pay neither side. */
          perMonth: z.int().min(0),
        })
        .prefault({ credits: 50_000, days: 30, perMonth: 10 }),
      rush: boostSchema.prefault({ credits: 20_000, days: 3 }),
    })
    .prefault({}),
  limits: limitsSchema,
  timeouts: timeoutsSchema,
  mail: z
    .strictObject({
      /** `smtp://user:password@host:587` or `smtps://host`; null: emails become files in `dataDir`. Required with `store.url`. */
      smtpUrl: secretSchema.nullable().default(null),
      /** Sender of all emails. */
      from: z.string().default('svc-gateway <no-reply@localhost>'),
      /**
       * Whether the password of `smtpUrl` is sent to a server that offers no TLS. Anyone on the way reads it then. A server on this machine
       * needs no TLS.
       */
      allowPlaintextPassword: z.boolean().default(false),
    })
    .prefault({}),
  /** Reports of incidents to people, and webhooks for programs; none by default. */
  notifications: notificationSchema,
  signIn: signInSchema,
  /** OAuth clients that use the tool server for a member. */
  oauth: z
    .strictObject({
      /**
       * Whether programs may name the https address of a document that describes them, instead of registering. The service reads the document, so
       * it must reach the internet. `auto`: announced while `internetProbeUrl` answers; `on`: announced always; `off`: not accepted.
       */
      clientIdDocuments: z.enum(['auto', 'on', 'off']).default('auto'),
      /** The https address that `clientIdDocuments: 'auto'` requests every ten minutes while programs sign in. */
      internetProbeUrl: exactUrlSchema.default('https://example.com/'),
      /** Custom URI schemes allowed in redirect URIs, besides reversed domains as in `com.example.app:`. */
      redirectSchemes: z
        .array(z.string().regex(/^(?!(?:https?|javascript|data|file|blob|about|vbscript)$)[a-z][a-z0-9+.-]*$/))
        .default([
          'cursor',
          'vscode',
          'vscode-insiders',
          'vscodium',
          'windsurf',
          'zed',
          'claude',
          'goose',
          'jetbrains',
          'raycast',
        ]),
    })
    .prefault({}),
  search: z
    .strictObject({
      /** What answers a web search: a search product's model, or a search engine. */
      backend: z.enum(['upstream', 'searxng', 'tavily', 'brave']).default('upstream'),
      /** SearXNG's address; SearXNG needs `formats: [html, json]`. */
      searxngUrl: urlSchema.nullable().default(null),
      /** Key of the search engine (`tavily`, `brave`). */
      apiKey: secretSchema.nullable().default(null),
      /** Address of the backend's API, if it is not the vendor's own. */
      endpoint: urlSchema.nullable().default(null),
      /** What a search engine charges for one search, in dollars, for `svc-gateway report`; null: unknown. */
      costPerSearch: costSchema.nullable().default(null),
      /** Number of results to request from a search engine; a model that searches by itself decides alone. */
      maxResults: z.int().min(1).max(20).default(10),
      /**
       * Failed calls in a row after which the search engine rests: single calls probe whether it works again, and other searches fail at once
       * with the time of the next probe. 0: it never rests.
       */
      restAfterFailures: z.int().min(0).default(5),
      /** How long the search engine rests after it has rejected the key; then one call probes it. 0: it does not rest. */
      rejectedKeyRestMs: z.int().min(0).max(86_400_000).default(60_000),
      /** Timeout of a search engine. */
      timeoutMs: millisecondsSchema.default(15_000),
      /** Origins of web pages that may call the tool server, besides our own. */
      allowedOrigins: z.array(urlSchema).default([]),
    })
    .prefault({}),
  images: z
    .strictObject({
      /** How the upstream makes images: in chat answers, or by its images endpoint. */
      style: z.enum(['chat', 'generations']).default('chat'),
      /** One image at most. */
      maxBytes: z
        .int()
        .min(1024)
        .default(20 * 1024 * 1024),
      /** How long a link to an image is valid. */
      linkDays: z.int().min(1).default(7),
      /** When images are deleted. */
      keepForDays: z.int().min(1).default(30),
      /** All images together at most; the oldest are deleted first. */
      keepBytes: z
        .int()
        .min(1024 * 1024)
        .default(10 * 1024 ** 3),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      /** A separate listener for `/metrics`; null: none; 0: any free port. */
      port: z.int().min(0).max(65_535).nullable().default(null),
      /** Address of that listener; an address other than loopback needs `allow`. */
      host: hostSchema.default('127.0.0.1'),
      /** Networks that may read there besides loopback, by the connecting address: no header is trusted. */
      allow: z.array(z.string()).default([]),
      /** With it as bearer token `/metrics` can be read from anywhere, also on the public listener, which does not serve it otherwise. */
      token: secretSchema.nullable().default(null),
    })
    .prefault({}),
  /** Whether members see the upstream's host, in the `debug` of an error envelope. The log has it in any case. */
  exposeUpstreamHost: z.boolean().default(false),
  log: z
    // Any text as a type, so that a value from the environment needs no cast.
    .strictObject({
      /** The least severe lines that are written. `debug` adds words of upstreams and whole error messages, which may quote prompts. */
      level: z
        .string()
        .pipe(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']))
        .default('info'),
    })
    .prefault({}),
  /** The plugins, in the order in which they run. */
  plugins: z.array(
    z.custom<AnyPlugin>(
      (value) => typeof value === 'object' && value !== null && 'name' in value,
      'is no plugin (an object with a name); call the function that creates it',
    ),
  ),
})
/** The type of `gateway.config.ts`. */
export type GatewayInput = z.input<typeof configSchema>

/** The configuration that the service uses: checked, with defaults. */
export type GatewayConfig = z.output<typeof configSchema>

function isTimeZone(name: string): boolean {
  // UTC needs no lookup in the time zone tables, which take longer to load than everything else here.
  if (name === 'UTC') return true
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function addIds<Item>(items: Readonly<Record<string, Item>>): Record<string, Item & { readonly id: string }> {
  return Object.fromEntries(Object.entries(items).map(([id, item]) => [id, { ...item, id }]))
}
