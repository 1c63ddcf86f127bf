/** The schema of `notifications`: who receives reports of incidents, which programs receive events, and when an incident begins. */
import { z } from 'zod'
import { incidentKinds, memberEventKinds } from '../../domain/notification.ts'
import { secretSchema } from './value-schemas.ts'

/** What people can be reached by: mail, a chat with a preset, or any address with a template. */
export const personReceiverKinds = [
  'mail',
  'slack',
  'feishu',
  'wecom',
  'dingtalk',
  'telegram',
  'discord',
  'ntfy',
  'template',
] as const

const receiverName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/)
const addressSchema = z.url({ protocol: /^https?$/ })
const timeOfDaySchema = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "is no time of day; write it as in '22:00'")

const personReceiverSchema = z.strictObject({
  /** Mail, a chat program, or `template` for any address that takes a POST request with JSON. */
  kind: z.enum(personReceiverKinds),
  /** Email address, for `mail`. */
  to: z.string().min(1).nullable().default(null),
  /**
   * Address of the chat's webhook or of the `template`, and of the server for `ntfy`; `telegram` has one of its own. Treat it as a secret:
   * most contain a key.
   */
  url: addressSchema.nullable().default(null),
  /** Signs requests to `feishu` and `dingtalk`, where the robot has signatures switched on. */
  secret: secretSchema.nullable().default(null),
  /** Bot token of `telegram`, or access token of `ntfy`. */
  token: secretSchema.nullable().default(null),
  /** Chat of `telegram`: its number, or `@name` of a channel. */
  chatId: z.string().min(1).nullable().default(null),
  /** Topic of `ntfy`. */
  topic: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'is no topic')
    .nullable()
    .default(null),
  /** JSON that a `template` sends, as text or as an object; `{{title}}` and others in its texts are replaced (docs/notifications.md). */
  body: z
    .union([z.string().min(1), z.record(z.string(), z.unknown())])
    .nullable()
    .default(null),
  /** Additional headers of requests of a `template`. */
  headers: z.record(z.string(), z.string()).default({}),
  /** Which incidents are reported. */
  events: z.union([z.literal('all'), z.array(z.enum(incidentKinds))]).default('all'),
  /** Time of day in which reports wait; null: none. */
  quietHours: z
    .strictObject({
      /** When they begin, as in `22:00`, in `timeZone`. */
      from: timeOfDaySchema,
      /** When they end. */
      to: timeOfDaySchema,
      /** Incidents that are reported all the same. */
      except: z.array(z.enum(incidentKinds)).default(['ledger_mismatch', 'disk_low']),
    })
    .nullable()
    .default(null),
  /** Allows an address of a private network, also without https. */
  allowPrivate: z.boolean().default(false),
})

const webhookSchema = z.strictObject({
  /** Receives a POST request for each event, signed as Standard Webhooks describes it. */
  url: addressSchema,
  /** Key of the signatures: `whsec_` and 24 to 64 bytes in base64, as `openssl rand -base64 32` prints them. */
  secret: secretSchema,
  /** While the key is being changed: the former one, which signs too. */
  previousSecret: secretSchema.nullable().default(null),
  /** Which incidents and events of members are sent. */
  events: z.union([z.literal('all'), z.array(z.enum([...incidentKinds, ...memberEventKinds]))]).default('all'),
  /** Allows an address of a private network, also without https. */
  allowPrivate: z.boolean().default(false),
})

export const notificationSchema = z
  .strictObject({
    /** People who receive reports of incidents, by a name of your choice. */
    people: z.record(receiverName, personReceiverSchema).default({}),
    /** Programs that receive incidents and events of members, by a name of your choice. */
    webhooks: z.record(receiverName, webhookSchema).default({}),
    /** When incidents begin. */
    rules: z
      .strictObject({
        /** A target counts as down when its circuit breaker has not been closed for this long. */
        upstreamDownMs: z.int().min(0).max(86_400_000).default(60_000),
        /** Share of turns of the last ten minutes that the service or its upstreams refused. */
        refusedShare: z.number().gt(0).max(1).default(0.1),
        /** With fewer turns in that time no share is reported. */
        minTurns: z.int().min(1).default(20),
        /** Free space of the disk with the data folder. */
        freeDiskBytes: z
          .int()
          .min(0)
          .default(1024 ** 3),
        /** Remaining validity of the certificate of `listen.tls`, and of the one at `listen.siteUrl`. */
        certificateDays: z.int().min(1).max(90).default(14),
        /**
         * Objective for the share of turns that are not refused, as in `0.995`. An incident begins when an hour and its last five minutes use up
         * the budget of refusals 14 times faster than the objective allows. Null: no objective.
         */
        availability: z.number().gt(0).lt(1).nullable().default(null),
      })
      .prefault({}),
    /** How long the delivery log is kept. */
    keepForDays: z.int().min(4).max(366).default(30),
  })
  .prefault({})
