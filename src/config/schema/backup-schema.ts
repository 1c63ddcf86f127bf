/** The schema of `backup`: when the data is copied, where to, and how long copies are kept. */
import { z } from 'zod'
import { secretSchema, urlSchema } from './value-schemas.ts'

const hourMs = 3_600_000

/** A number of hours or days, as in `6h` and `1d`; milliseconds afterwards. */
const intervalSchema = z
  .string()
  .regex(/^[1-9]\d{0,2}[hd]$/, "is no interval; write it as in '6h' or '1d'")
  .transform((text) => Number.parseInt(text, 10) * (text.endsWith('d') ? 24 * hourMs : hourMs))

const bucketSchema = z.strictObject({
  /** Name of the bucket, which must exist. */
  bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is no name of a bucket'),
  /** Address of an S3-compatible server, as in `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: urlSchema,
  /** Region that the server expects in signatures. */
  region: z.string().min(1).default('us-east-1'),
  /** Begins the names of files, as a folder would; several installations may share a bucket under different prefixes. */
  prefix: z
    .string()
    .regex(/^(?:[\w-][\w.-]*(?:\/[\w-][\w.-]*)*)?$/, 'may have letters, digits, - _ . and / between parts')
    .default(''),
  /** The key must be allowed to list, read, write and delete. */
  accessKeyId: z.string().min(1),
  /** Secret of the key. */
  secretAccessKey: secretSchema,
  /** `path`: the server is called as `endpoint/bucket`; `host`: as `bucket.endpoint`, which some providers require. */
  addressing: z
    // Any text as a type, so that a value from the environment needs no cast.
    .string()
    .pipe(z.enum(['path', 'host']))
    .default('path'),
})

export const backupSchema = z
  .strictObject({
    /** How often a backup is written: hours or days, as in `6h` and `1d`. */
    every: intervalSchema.prefault('1d'),
    /** Which backups are kept: all of the last 24 hours, and the newest one of each of the last days, weeks and months (UTC). */
    keep: z
      .strictObject({
        /** Days of which one backup each is kept. */
        days: z.int().min(1).max(366).default(7),
        /** Weeks of which one backup each is kept. */
        weeks: z.int().min(0).max(104).default(4),
        /** Months of which one backup each is kept. */
        months: z.int().min(0).max(120).default(6),
      })
      .prefault({}),
    /** An existing folder, best on another disk, or a bucket. */
    to: z.union([z.string().min(1), bucketSchema]),
    /**
     * File with a passphrase of at least 16 characters that encrypts backups before they leave this machine. Null: they are not encrypted, and
     * the installation's secret is left out of them.
     */
    passphraseFile: z.string().min(1).nullable().default(null),
  })
  .nullable()
  .default(null)
