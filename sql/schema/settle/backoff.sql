-- How long to wait before a message is tried again that failed at an attempt, for retry_after of nack: first, times factor with each
-- attempt (1: fixed), never longer than most, times a random number from 1 - jitter to 1, so that what failed together does not come back
-- together.
create function backoff(
  attempt int, first interval default '1 s', factor float8 default 2, most interval default '1 hour', jitter float8 default 1
) returns interval
language plpgsql
volatile
set search_path from current
as $$
declare
  first_s constant float8 := extract(epoch from first);
  most_s constant float8 := extract(epoch from most);
begin
  if (attempt >= 1 and first_s >= 0 and factor >= 1 and factor <= 1000 and most_s >= first_s and most_s < 'infinity' and jitter between 0 and 1) is not true then
    raise exception using
      errcode = 'PQ004',
      message = format('expected an attempt from 1, 0 <= first <= most, a factor from 1 to 1000 and a jitter from 0 to 1, got: %s',
        concat_ws(', ', coalesce(attempt::text, 'NULL'), coalesce(first::text, 'NULL'), coalesce(factor::text, 'NULL'), coalesce(most::text, 'NULL'), coalesce(jitter::text, 'NULL')));
  end if;
  -- the power of an attempt in the thousands would overflow
  return make_interval(secs => least(most_s, first_s * power(factor, least(attempt - 1, 100))) * (1 - jitter * random()));
end
$$;
