/** Headers of an answer by what its body is. */

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' } as const

/** Of what one member asked for, and nobody in between may keep. */
export const privateJsonHeaders = { ...jsonHeaders, 'cache-control': 'private, no-store' } as const

/** Nobody in between may gather up or change a stream of events. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const
