/**
 * Values in a request that make a model server do more than answer: references in JSON schemas that libraries of some servers fetch, and
 * arguments of its chat template that replace the template or choose how the prompt becomes tokens.
 */
import { tryParseJson } from '../../system/parse-json.ts'
import { isRecord } from './chat-request.ts'
import type { FieldViolation } from './request-analysis.ts'

/** Fields that are or contain JSON schemas, as objects or as their text. */
const schemaFields = [
  'tools',
  'functions',
  'response_format',
  'guided_json',
  'json_schema',
  'structured_outputs',
  'grammar',
] as const

const referenceNames = ['$ref', '$dynamicRef', '$recursiveRef'] as const

/** The first of these fields with a reference to a schema outside of it. */
export function findOutsideReference(body: Readonly<Record<string, unknown>>): FieldViolation | null {
  for (const field of schemaFields) {
    if (!hasOutsideReference(body[field])) continue
    return {
      detail: {
        en: `a '$ref' in '${field}' names a schema outside of it; it must begin with '#', or be the '$id' of a schema beside it.`,
        zh: `'${field}' 中的 '$ref' 引用了外部 schema；'$ref' 必须以 '#' 开头，或为同一内容中某个 schema 的 '$id'。`,
      },
      param: field,
    }
  }
  return null
}

/** A name that a schema of the same document may have as its `$id`. With an address as the base it names a document elsewhere. */
const schemaName = /^[\w$-]+(?:#.*)?$/

function hasOutsideReference(value: unknown): boolean {
  const foundReferences = { named: false, based: false }
  return readReferences(value, foundReferences) || (foundReferences.named && foundReferences.based)
}

/** Returns true at a reference that names another document by itself. */
function readReferences(value: unknown, found: { named: boolean; based: boolean }): boolean {
  if (typeof value === 'string') return /^\s*[[{]/.test(value) && readReferences(tryParseJson(value), found)
  if (Array.isArray(value)) return value.some((each) => isTree(each) && readReferences(each, found))
  if (!isRecord(value)) return false
  for (const name of referenceNames) {
    const reference = value[name]
    // A property of the schema may have this name; its value is then a schema.
    if (typeof reference !== 'string' || reference.startsWith('#')) continue
    if (!schemaName.test(reference)) return true
    found.named = true
  }
  for (const name of ['$id', 'id']) {
    const base = value[name]
    if (typeof base === 'string' && !schemaName.test(base)) found.based = true
  }
  for (const name in value) {
    const inner = value[name]
    if (isTree(inner) ? readReferences(inner, found) : isSchemaText(name, inner) && readReferences(inner, found)) return true
  }
  return false
}

function isTree(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Fields whose text may be a schema, or contain schemas: in `structured_outputs`, `response_format` and functions. */
const schemaTextFields: ReadonlySet<string> = new Set(['json', 'json_schema', 'schema', 'structural_tag', 'parameters'])

function isSchemaText(name: string, value: unknown): boolean {
  return typeof value === 'string' && schemaTextFields.has(name)
}

/** Arguments of the functions that apply a template, in vLLM, SGLang and Transformers. */
const templateSettings: ReadonlySet<string> = new Set([
  'chat_template',
  'template',
  'conversation',
  'messages',
  'tokenize',
  'tokenizer',
  'tokenizer_kwargs',
  'padding',
  'truncation',
  'max_length',
  'return_tensors',
  'return_dict',
  'return_assistant_tokens_mask',
])
/** Marks of Jinja, and addresses. */
const templateText = /\{[{%#]|^[\s\p{Cc}]*(?:[a-z][a-z0-9+.-]{0,30}:\/\/|file:)/iu

/** What is wrong with `chat_template_kwargs`: a setting of the template's engine, a template, or an address. */
export function findTemplateSetting(body: Readonly<Record<string, unknown>>): FieldViolation | null {
  const value = body['chat_template_kwargs']
  if (value === undefined || value === null) return null
  const names = isRecord(value) ? Object.keys(value) : []
  if (isRecord(value) && !names.some((name) => templateSettings.has(name)) && !hasTemplateText(value)) return null
  return {
    detail: {
      en: "'chat_template_kwargs' must be an object of values for the model's own template, without templates, addresses and settings such as 'chat_template' and 'tokenize'.",
      zh: "'chat_template_kwargs' 必须是供模型自带模板使用的值对象，不得包含模板、地址，以及 'chat_template'、'tokenize' 等设置。",
    },
    param: 'chat_template_kwargs',
  }
}

function hasTemplateText(value: unknown): boolean {
  if (typeof value === 'string') return templateText.test(value)
  if (Array.isArray(value)) return value.some(hasTemplateText)
  return isRecord(value) && Object.values(value).some(hasTemplateText)
}
