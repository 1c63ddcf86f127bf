/**
 * What the host is started with: one JSON document on its standard input, written by the command that starts it. So the host
 * reads no environment itself, and nothing of it shows in the process list.
 */
import { z } from 'zod'

export const settingsSchema = z.strictObject({
  version: z.string(),
  socketPath: z.string(),
  /** Token, lock, tmux's and ssh's sockets: 0700, beside the socket. */
  runDir: z.string(),
  /** Log, notifications, browser profiles: 0700. */
  stateDir: z.string(),
  home: z.string(),
  platform: z.string(),
  /** The environment of everything the host starts; credentials of the service have been left out. */
  env: z.record(z.string(), z.string()),
  /** The command line that runs `svc` again, for the explorer in a pane. */
  svc: z.array(z.string()).min(1),
  browser: z.strictObject({
    /** SVC_BROWSER or the configuration file. */
    executable: z.string().nullable(),
    /** Turned off only by explicit configuration: then any page may reach what the user can. */
    sandbox: z.boolean(),
    /** How long Chromium stays without a page. */
    idleMs: z.number().int().positive(),
    /** How long a page is waited for when it is asked for its title or for what it keeps. */
    answerMs: z.number().int().positive(),
  }),
  /** `memory` is for tests and for machines without tmux. */
  engine: z.enum(['tmux', 'memory']),
  /** Throw at a focus violation instead of only repairing it. */
  strictFocus: z.boolean(),
})

export type Settings = z.output<typeof settingsSchema>
