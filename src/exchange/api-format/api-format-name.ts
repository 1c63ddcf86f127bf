/** The API formats, as the log, the metrics and the turn log name them. */
export const apiFormatNames = ['chat_completions', 'responses', 'messages', 'gemini'] as const
export type ApiFormatName = (typeof apiFormatNames)[number]
