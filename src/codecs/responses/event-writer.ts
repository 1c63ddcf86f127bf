/** Server-sent events with contiguous sequence numbers. */

export type EventType =
  | 'response.created'
  | 'response.in_progress'
  | 'response.completed'
  | 'response.incomplete'
  | 'response.failed'
  | 'response.output_item.added'
  | 'response.output_item.done'
  | 'response.content_part.added'
  | 'response.content_part.done'
  | 'response.output_text.delta'
  | 'response.output_text.done'
  | 'response.output_text.annotation.added'
  | 'response.reasoning_summary_part.added'
  | 'response.reasoning_summary_part.done'
  | 'response.reasoning_summary_text.delta'
  | 'response.reasoning_summary_text.done'
  | 'response.function_call_arguments.delta'
  | 'response.function_call_arguments.done'
  | 'response.custom_tool_call_input.delta'
  | 'response.custom_tool_call_input.done'
  | 'response.web_search_call.in_progress'
  | 'response.web_search_call.searching'
  | 'response.web_search_call.completed'
  | 'response.image_generation_call.in_progress'
  | 'response.image_generation_call.completed'
  | 'keepalive'

/** The JSON around the `delta` of an event that is sent often; its other fields are serialized once. */
export interface DeltaTemplate {
  readonly beforeNumber: string
  readonly beforeDelta: string
}

export function createDeltaTemplate(type: EventType, fields: object): DeltaTemplate {
  return {
    beforeNumber: `event: ${type}\ndata: {"type":"${type}","sequence_number":`,
    beforeDelta: `,${JSON.stringify(fields).slice(1, -1)},"delta":`,
  }
}

export class EventWriter {
  #nextNumber = 0

  writeDelta({ beforeNumber, beforeDelta }: DeltaTemplate, delta: string): string {
    return `${beforeNumber}${this.#nextNumber++}${beforeDelta}${JSON.stringify(delta)}}\n\n`
  }

  /** An event with the response object, which is JSON already. `charge`: what the turn costs, beside it. */
  writeResponse(type: EventType, response: string, charge?: object): string {
    const rest = charge === undefined ? '' : `,"charge":${JSON.stringify(charge)}`
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#nextNumber++},"response":${response}${rest}}\n\n`
  }

  write(type: EventType, fields: object = {}): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#nextNumber++, ...fields })}\n\n`
  }
}
