// The bodies that package sinks sends, as the receivers publish their types.
import type { HeaderBlock, SectionBlock } from '@slack/types';
import type { EventPayloadV2 } from '@pagerduty/pdjs/build/src/events';

// Without the accessory of a section, which would bring in all interactive elements: we send none.
export interface Slack {
  text: string;
  blocks: (HeaderBlock | Omit<SectionBlock, 'accessory'>)[];
}

// PagerDuty's OpenAPI of the Events API v2 also has client and client_url, and a payload is only needed to
// trigger.
export interface PagerDuty extends Omit<EventPayloadV2, 'payload'> {
  payload?: EventPayloadV2['payload'];
  client?: string;
  client_url?: string;
}
