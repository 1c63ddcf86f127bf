/**
 * The host's settings: one JSON document on its standard input, written by the command that starts it. So the host
 * reads no environment, and the process list shows nothing of it.
 */
import { z } from 'zod'

export const settingsSchema = z.strictObject({
  version: z.string(),
  socketPath: z.string(),
  /** Folder of the token, the lock, and the sockets of tmux and ssh: 0700, beside the socket. */
  runDir: z.string(),
  /** Folder of the log, notifications and browser profiles: 0700. */
  stateDir: z.string(),
  home: z.string(),
  platform: z.string(),
  /** The environment of every program that the host starts, without credentials of the service. */
  env: z.record(z.string(), z.string()),
  /** The command line that runs `svc` again, for the explorer in a pane. */
  svc: z.array(z.string()).min(1),
  browser: z.strictObject({
    /** SVC_BROWSER or the configuration file. */
    executable: z.string().nullable(),
    /** Disabled only by explicit configuration: then any page can reach what the user can. */
    sandbox: z.boolean(),
    /** How long an idle Chromium without pages stays alive. */
    idleMs: z.number().int().positive(),
    /** Timeout for reading a page's title or its stored state. */
    answerMs: z.number().int().positive(),
  }),
  /** `memory` is for tests and for machines without tmux. */
  engine: z.enum(['tmux', 'memory']),
  /** Throw at a focus violation instead of only reverting it. */
  strictFocus: z.boolean(),
})

export type Settings = z.output<typeof settingsSchema>
