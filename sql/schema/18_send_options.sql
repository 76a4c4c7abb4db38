-- What a send may be told: headers, and when the message is due.

-- Refuses options that are not known, and headers that are not an object.
create function check_send_options(options jsonb, known text[] default '{headers,delay,at}') returns void
language plpgsql
immutable
set search_path from current
as $$
declare
  unknown text;
begin
  if jsonb_typeof(options) <> 'object' then
    raise exception using errcode = 'PQ004', message = format('expected the options of a send to be a JSON object, got: %s', left(options::text, 100));
  end if;
  select string_agg(quote_literal(key), ', ') into unknown from jsonb_object_keys(options) as key where key <> all (known);
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
  if options ? 'delay' and options ? 'at' then
    raise exception using errcode = 'PQ004', message = 'expected delay or at, got both';
  end if;
end
$$;

-- When a message with these options is due: delay is a number of seconds or an interval, at a time. Null: at once.
create function send_due_at(options jsonb) returns timestamptz
language plpgsql
volatile
set search_path from current
as $$
declare
  delay interval;
  due_at timestamptz;
begin
  if options ? 'delay' then
    delay := case jsonb_typeof(options -> 'delay')
      when 'number' then make_interval(secs => (options ->> 'delay')::float8)
      else (options ->> 'delay')::interval
    end;
    if delay is null or not (delay >= '0' and delay <= '100 years') then
      raise exception numeric_value_out_of_range;
    end if;
    return clock_timestamp() + delay;
  end if;
  if options ? 'at' then
    due_at := (options ->> 'at')::timestamptz;
    if due_at is null or not isfinite(due_at) or due_at > clock_timestamp() + interval '100 years' then
      raise exception numeric_value_out_of_range;
    end if;
  end if;
  return due_at;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected delay to be from 0 to 100 years, or at to be a time within 100 years, got: %s', left((options - 'headers')::text, 100)),
      hint = 'delay: a number of seconds or an interval such as "90 s"; at: a time such as "2030-01-31T12:00:00Z".';
end
$$;

-- Stores messages until they are due.
create function send_later(queue_uid bigint, due_at timestamptz, ids bigint[], type_name text, payloads text[], headers jsonb[]) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format($sql$
    insert into %I (due_at, queue_uid, id, type, payload, headers)
    select $1, $2, m.id, $3, m.payload, m.headers from unnest($4, $5, $6) as m(id, payload, headers)
  $sql$, delayed_table(case when due_at > clock_timestamp() + delayed_near_span() then 'far' else 'near' end))
    using due_at, queue_uid, type_name, ids, payloads, headers;
end
$$;
