-- The other shapes of send and send_batch. An untyped literal picks text, which is stored verbatim; jsonb is stored in its
-- canonical text.
create function send(queue_name text, type_name text, payload jsonb, options jsonb default null) returns bigint
language sql
return send(queue_name, type_name, payload::text, options);

create function send(queue_name text, payload text) returns bigint
language sql
return send(queue_name, 'default', payload, null);

create function send(queue_name text, payload jsonb) returns bigint
language sql
return send(queue_name, 'default', payload::text, null);

create function send_batch(queue_name text, type_name text, payloads jsonb[], headers jsonb[] default null, options jsonb default null)
returns bigint[]
language sql
return send_batch(queue_name, type_name, payloads::text[], headers, options);

create function send_batch(queue_name text, payloads text[]) returns bigint[]
language sql
return send_batch(queue_name, 'default', payloads, null);

create function send_batch(queue_name text, payloads jsonb[]) returns bigint[]
language sql
return send_batch(queue_name, 'default', payloads::text[], null);
