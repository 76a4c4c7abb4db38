-- What a send may be told: headers, when the message is due and until when it counts, its priority or its key, a dedupe key; for a batch dedupe_keys, in parallel with
-- the payloads.

-- How many bytes the headers of a message may have, as the text of a jsonb. Asked when they are sent, and never again.
create function headers_bytes_max() returns int
language sql
immutable
return 65536;

create function refuse_headers(headers jsonb) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  raise exception using
    errcode = 'PQ004',
    message = format('headers too large: expected at most %s bytes as JSON text, got: %s', headers_bytes_max(), octet_length(headers::text)),
    hint = 'Store it in the payload, or elsewhere and send a reference.';
end
$$;

-- Whether options are such as a queue takes: known ones, headers that are an object, and none that exclude each other. Written into the
-- expression that asks, which costs a send much less than a call.
create function are_send_options(options jsonb, known text[]) returns boolean
language sql
immutable
return case when jsonb_typeof(options) = 'object' then
  options - known = '{}'
  and coalesce(jsonb_typeof(options -> 'headers') = 'object' and octet_length((options -> 'headers')::text) <= headers_bytes_max(), true)
  and not options ?& '{delay,at}' and not options ?& '{ttl,expires_at}' and not options ?& '{key,keys}'
  and (options ?| '{dedupe_key,dedupe_keys}' or not options ? 'dedupe_ttl')
  and (
    not options ? 'if_waiting'
    or options ? 'dedupe_key' and (
      options -> 'if_waiting' in ('"keep"', '"replace"') or options -> 'if_waiting' = '"postpone"' and options ?| '{delay,at}'
    )
  )
else false end;

-- The options that send, and send_batch, of a queue take.
create function known_send_options(queue_id int, of_batch boolean) returns text[]
language sql
stable
set search_path from current
begin atomic
  select '{delay,at}'::text[]
         || case when of_batch then '{dedupe_keys,dedupe_ttl}'::text[] else '{headers,dedupe_key,dedupe_ttl}' end
         || case when q.allow_cancel and not of_batch then '{if_waiting}'::text[] else '{}' end
         || case when q.allow_expiry then '{ttl,expires_at}'::text[] else '{}' end
         || case q.lane_by when 'priority' then '{priority}'::text[] when 'key' then case when of_batch then '{key,keys}'::text[] else '{key}' end else '{}' end
    from queue q
   where q.id = known_send_options.queue_id;
end;

-- Says what is wrong with options that a queue does not take.
create function refuse_send_options(queue_id int, options jsonb, known text[]) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  settings queue;
  unknown text;
begin
  select q.* into settings from queue q where q.id = queue_id;
  if jsonb_typeof(options) <> 'object' then
    raise exception using errcode = 'PQ004', message = format('expected the options of a send to be a JSON object, got: %s', left(options::text, 100));
  end if;
  if (options ? 'priority' and settings.lane_by is distinct from 'priority')
     or (options ?| '{key,keys}' and settings.lane_by is distinct from 'key') then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has no %s', quote_literal(settings.name),
        case when options ? 'priority' then 'priorities' else 'keys' end),
      hint = format('A queue is created with %s; it has one or the other.', case when options ? 'priority' then 'priorities = 10' else 'partitions = 16' end);
  end if;
  if options ?| '{ttl,expires_at}' and not settings.allow_expiry then
    raise exception using
      errcode = 'PQ004',
      message = format('messages of queue %s do not expire', quote_literal(settings.name)),
      hint = 'Set its option allow_expiry to true.';
  end if;
  if options ? 'if_waiting' and not settings.allow_cancel then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s was created without allow_cancel', quote_literal(settings.name)),
      hint = 'What waits cannot be replaced there. Create a queue with allow_cancel.';
  end if;
  select string_agg(quote_literal(o.key), ', ') into unknown from jsonb_object_keys(options) as o(key) where o.key <> all (known);
  if unknown is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('unknown option of a send: %s', unknown),
      hint = format('Known options: %s.', array_to_string(known, ', '));
  end if;
  if jsonb_typeof(options -> 'headers') <> 'object' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected headers to be a JSON object, got: %s', left((options -> 'headers')::text, 100));
  end if;
  if octet_length((options -> 'headers')::text) > headers_bytes_max() then
    perform refuse_headers(options -> 'headers');
  end if;
  if options ?& '{delay,at}' then
    raise exception using errcode = 'PQ004', message = 'expected delay or at, got both';
  end if;
  if options ?& '{ttl,expires_at}' then
    raise exception using errcode = 'PQ004', message = 'expected ttl or expires_at, got both';
  end if;
  if options ?& '{key,keys}' then
    raise exception using errcode = 'PQ004', message = 'expected key or keys, got both';
  end if;
  if options ? 'if_waiting' and 'if_waiting' = any (known) and not options ? 'dedupe_key' then
    raise exception using errcode = 'PQ004', message = 'expected if_waiting together with dedupe_key';
  end if;
  if options -> 'if_waiting' = '"postpone"' and not options ?| '{delay,at}' then
    raise exception using errcode = 'PQ004', message = 'expected if_waiting = postpone together with delay or at';
  end if;
  if options -> 'if_waiting' not in ('"keep"', '"replace"', '"postpone"') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected if_waiting to be keep, replace or postpone, got: %s', left((options -> 'if_waiting')::text, 100));
  end if;
  if options ? 'dedupe_ttl' and not options ?| '{dedupe_key,dedupe_keys}' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected dedupe_ttl together with %s', case when 'dedupe_keys' = any (known) then 'dedupe_keys' else 'dedupe_key' end);
  end if;
end
$$;

-- Whether a span is at most as long as another, both in seconds. Postgres compares intervals by months of 30 days, and 100 years are 36,000 days then.
create function is_within(span interval, longest interval) returns boolean
language sql
immutable
return extract(epoch from span) <= extract(epoch from longest);

-- An option that is a span of time, a number of seconds or an interval, longer than 0, or 0 if it may be. Null: it is not given.
create function option_interval(options jsonb, name text, longest interval, may_be_zero boolean default false) returns interval
language plpgsql
immutable
set search_path from current
as $$
declare
  span interval;
begin
  if not options ? name then
    return null;
  end if;
  span := case jsonb_typeof(options -> name)
    when 'number' then make_interval(secs => (options ->> name)::float8)
    else (options ->> name)::interval
  end;
  if (span > '0' and is_within(span, longest) or span = '0' and may_be_zero) is not true then
    raise exception numeric_value_out_of_range;
  end if;
  return span;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to be %s %s, got: %s', name, case when may_be_zero then 'from 0 to' else 'longer than 0 and at most' end, longest, left((options -> name)::text, 100)),
      hint = 'A number of seconds, or an interval such as "90 s".';
end
$$;

-- An option that is a time within 100 years. Null: it is not given.
create function option_time(options jsonb, name text) returns timestamptz
language plpgsql
volatile
set search_path from current
as $$
declare
  "time" timestamptz;
begin
  if not options ? name then
    return null;
  end if;
  "time" := (options ->> name)::timestamptz;
  if "time" is null or not isfinite("time") or "time" > clock_timestamp() + interval '100 years' then
    raise exception numeric_value_out_of_range;
  end if;
  return "time";
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to be a time within 100 years, got: %s', name, left((options -> name)::text, 100)),
      hint = 'A time such as "2030-01-31T12:00:00Z".';
end
$$;

-- When a message with these options is due: after a delay, or at a time. Null: at once.
create function send_due_at(options jsonb) returns timestamptz
language sql
volatile
set search_path from current
return coalesce(
  clock_timestamp() + option_interval(options, 'delay', '100 years', may_be_zero => true),
  option_time(options, 'at')
);

-- Until when a message with these options is delivered. Null: always.
create function send_expires_at(options jsonb) returns timestamptz
language sql
volatile
set search_path from current
return coalesce(clock_timestamp() + option_interval(options, 'ttl', '100 years'), option_time(options, 'expires_at'));

-- Stores messages until they are due.
create function send_later(
  queue_uid bigint, due_at timestamptz, ids bigint[], lanes int[], keys text[], expires_at timestamptz, type_name text, payloads text[],
  headers jsonb[]
) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format(qualified($sql$
    insert into {schema}.%I (due_at, queue_uid, id, lane, key, expires_at, cancellable, type, payload, headers)
    select $1, $2, m.id, coalesce(m.lane, 0), m.key, $9, nullif(q.allow_cancel, false), $3, m.payload, m.headers
      from {schema}.queue q
     cross join unnest($4, $5, $6, $7, $8) as m(id, lane, key, payload, headers)
     where q.uid = $2
  $sql$), delayed_table(case when due_at > clock_timestamp() + delayed_soon_span() then 'later' else 'soon' end))
    using due_at, queue_uid, type_name, ids, lanes, keys, payloads, headers, expires_at;
end
$$;

-- The priority that a message is sent with, 0 unless options say otherwise; it is the number of its lane.
create function send_priority(options jsonb, lanes int) returns int
language plpgsql
immutable
set search_path from current
as $$
declare
  priority constant jsonb := options -> 'priority';
begin
  if priority is null then
    return 0;
  end if;
  if jsonb_typeof(priority) <> 'number' or priority::text !~ '^[0-9]{1,4}$' or priority::int >= lanes then
    raise exception using
      errcode = 'PQ004',
      message = format('expected priority to be an integer from 0 to %s, got: %s', lanes - 1, left(priority::text, 100)),
      hint = 'Higher ones are received first.';
  end if;
  return priority::int;
end
$$;

-- The key that a message is sent with; null: none.
create function send_key(options jsonb) returns text
language plpgsql
immutable
set search_path from current
as $$
begin
  perform check_key(options -> 'key');
  return options ->> 'key';
end
$$;

-- The keys of a batch of messages, one each: keys, or key for all, or none.
create function send_keys(options jsonb, messages int) returns text[]
language plpgsql
immutable
set search_path from current
as $$
begin
  if not options ? 'keys' then
    return array_fill(send_key(options), array[messages]);
  end if;
  if jsonb_typeof(options -> 'keys') <> 'array' or jsonb_array_length(options -> 'keys') <> messages then
    raise exception using
      errcode = 'PQ004',
      message = format('expected keys to be an array of %s, as many as payloads, got: %s', messages, left((options -> 'keys')::text, 100)),
      hint = 'Use null for a message without a key.';
  end if;
  perform check_key(k) from jsonb_array_elements(options -> 'keys') as k where k <> 'null';
  return array(select k.value from jsonb_array_elements_text(options -> 'keys') with ordinality as k(value, n) order by n);
end
$$;

create function check_key(key jsonb) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if jsonb_typeof(key) <> 'string' or octet_length(key #>> '{}') > 1000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected key to be a string of at most 1000 bytes, got: %s', left(key::text, 100)),
      hint = 'Messages of one key are handled in order.';
  end if;
end
$$;
