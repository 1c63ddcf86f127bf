/** Requests in the form in which agents send them, with shorter texts. */
import type { JsonObject } from '../../../src/exchange/api-format/api-format.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** The names that Claude Code sends in `anthropic-beta` with such a request. */
export const claudeCodeBetas =
  'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24'

/** Claude Code 2.1, in a loop of tools: text, a call with thinking, pictures and documents in results, and deferred tools. */
export const claudeCodeRequest: JsonObject = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>\nAttribution for git commits.\n</system-reminder>' },
        { type: 'text', text: 'What is in a.png and a.pdf?' },
      ],
    },
    { role: 'system', content: [{ type: 'text', text: '# Environment\nYou have been invoked here.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I read them.', signature: 'c2ln' },
        { type: 'text', text: 'Reading.' },
        { type: 'tool_use', id: 'call_a', name: 'Read', input: { file_path: '/home/user/a.png' }, caller: { type: 'direct' } },
        { type: 'tool_use', id: 'call_b', name: 'Read', input: { file_path: '/home/user/a.pdf' } },
        { type: 'tool_use', id: 'call_c', name: 'ToolSearch', input: { query: 'select:WebFetch' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          tool_use_id: 'call_a',
          type: 'tool_result',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }],
        },
        {
          tool_use_id: 'call_b',
          type: 'tool_result',
          content: [
            { type: 'text', text: 'PDF file read: /home/user/a.pdf (302 bytes)' },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvUGFnZT4+ZW5kb2Jq' },
            },
          ],
        },
        { tool_use_id: 'call_c', type: 'tool_result', content: [{ type: 'tool_reference', tool_name: 'WebFetch' }] },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_d', name: 'Read', input: { file_path: '/home/user/b' } }] },
    {
      role: 'user',
      content: [{ tool_use_id: 'call_d', type: 'tool_result', content: 'File not found.', is_error: true, ...mark }],
    },
  ],
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.330.572; cc_entrypoint=sdk-cli;' },
    { type: 'text', text: "You are a Claude agent, built on Anthropic's Claude Agent SDK.", ...mark },
    { type: 'text', text: '\nYou are an agent working with the user toward their goals.\n\n', ...mark },
  ],
  tools: [
    {
      name: 'Read',
      description: 'Reads a file.',
      input_schema: { type: 'object', properties: { file_path: { type: 'string' } } },
    },
    { name: 'ToolSearch', description: 'Fetches definitions.', input_schema: { type: 'object', properties: {} } },
    { name: 'WebFetch', description: 'Fetches a page.', input_schema: { type: 'object', properties: {} }, defer_loading: true },
  ],
  metadata: { user_id: '{"device_id":"00","account_uuid":"","session_id":"da1b5ebe"}' },
  max_tokens: 32_000,
  thinking: { type: 'adaptive', display: 'omitted' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'high' },
  stream: true,
}

/** Codex 0.169, in a loop of tools: instructions as messages, namespaces, tools with free text, reasoning, and a picture in a result. */
export const codexRequest: JsonObject = {
  stream: true,
  input: [
    {
      type: 'message',
      id: 'msg_2413f5a7-0046-502a-848b-bee69a40cd89',
      role: 'developer',
      content: [{ type: 'input_text', text: 'You are a coding agent.' }],
    },
    {
      type: 'message',
      id: 'msg_01a20c2b-e00e-7b30-8eb0-f55ee0a93c21',
      role: 'developer',
      content: [
        { type: 'input_text', text: '<skills_instructions>\n## Skills\n' },
        { type: 'input_text', text: '<permissions instructions>\n' },
      ],
    },
    {
      type: 'message',
      id: 'msg_01a20c2b-e029-7011-a1d8-d091ebc3c26c',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Say hello' },
        { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'high' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'I think so.' }],
      content: null,
      encrypted_content: 'gAAAAforeign',
    },
    {
      type: 'message',
      id: 'msg_2',
      role: 'assistant',
      status: 'completed',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'Looking.', annotations: [], logprobs: [] }],
    },
    {
      type: 'function_call',
      status: 'completed',
      id: 'fc_1',
      name: 'exec_command',
      arguments: '{"cmd":"ls"}',
      call_id: 'call_a',
    },
    {
      type: 'function_call',
      status: 'completed',
      id: 'fc_2',
      name: 'shot',
      namespace: 'mcp__demo',
      arguments: '{}',
      call_id: 'call_b',
    },
    {
      type: 'custom_tool_call',
      status: 'completed',
      id: 'ctc_1',
      call_id: 'call_c',
      name: 'apply_patch',
      input: '*** Begin Patch',
    },
    { type: 'function_call_output', id: 'fco_1', call_id: 'call_a', output: 'Process exited with code 0' },
    {
      type: 'function_call_output',
      id: 'fco_2',
      call_id: 'call_b',
      output: [
        { type: 'input_text', text: 'A picture' },
        { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'high' },
      ],
    },
    { type: 'custom_tool_call_output', id: 'cto_1', call_id: 'call_c', output: 'Done!' },
  ],
  tools: [
    {
      type: 'function',
      name: 'exec_command',
      description: 'Runs.',
      strict: false,
      parameters: { type: 'object', properties: {} },
    },
    {
      type: 'namespace',
      name: 'mcp__demo',
      description: 'Tools of a server.',
      tools: [
        { type: 'function', name: 'shot', description: 'Shows.', strict: false, parameters: { type: 'object', properties: {} } },
      ],
    },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Patches.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { summary: 'auto', context: 'all' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '01a20c2b-dfc4-74d1-a41b-86ee09487f60',
  client_metadata: { thread_id: '01a20c2b', 'x-codex-turn-metadata': '{"session_id":"01a20c2b"}' },
}

/** Gemini CLI, in a loop of tools: thoughts, calls with signatures, pictures in results, and schemas. */
export const geminiRequest: JsonObject = {
  contents: [
    { role: 'user', parts: [{ text: 'This is the Gemini CLI.' }, { text: 'What is in a.png?' }] },
    {
      role: 'model',
      parts: [
        { text: 'I look.', thought: true },
        { functionCall: { id: 'call_1', name: 'read_file', args: { path: 'a.png' } }, thoughtSignature: 'c2lnbmVk' },
        { functionCall: { id: 'call_2', name: 'list_directory', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'call_1',
            name: 'read_file',
            response: { output: 'Binary content.' },
            parts: [{ inlineData: { mimeType: 'image/png', data: png, displayName: 'a.png' } }],
          },
        },
        { functionResponse: { id: 'call_2', name: 'list_directory', response: { error: 'No such folder.' } } },
      ],
    },
  ],
  systemInstruction: { role: 'user', parts: [{ text: 'You are an interactive agent.' }, { text: 'Be brief.' }] },
  tools: [
    {
      functionDeclarations: [
        {
          name: 'read_file',
          description: 'Reads.',
          parametersJsonSchema: { type: 'object', properties: { path: { type: 'string' } } },
        },
        { name: 'list_directory', description: 'Lists.', parameters: { type: 'OBJECT', properties: {}, nullable: true } },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['read_file'] } },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  generationConfig: {
    temperature: 1,
    topP: 0.95,
    topK: 64,
    maxOutputTokens: 800,
    thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
  },
}
