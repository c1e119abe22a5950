#include "http/accept.h"

#include "io/http_request.h"

/* Reads the value of q, such as "1", "0.5" or "0.125". Any other text counts as 1, as if q were absent. */
static int read_weight(struct slice text)
{
    int weight = 0, digit_value = ACCEPT_WEIGHT_MAX;
    if (text.size == 0 || text.size > 5 || (text.size > 1 && text.data[1] != '.'))
        return ACCEPT_WEIGHT_MAX;
    for (size_t i = 0; i < text.size; i++) {
        if (i == 1)
            continue;
        if (text.data[i] < '0' || text.data[i] > '9')
            return ACCEPT_WEIGHT_MAX;
        weight += digit_value * (text.data[i] - '0');
        digit_value /= 10;
    }
    return weight < ACCEPT_WEIGHT_MAX ? weight : ACCEPT_WEIGHT_MAX;
}

static bool is_one_of(struct slice version, const char *const *versions)
{
    while (versions && *versions && !slice_equal(version, slice_of(*versions)))
        versions++;
    return !versions || *versions;
}

/* Returns the weight of one item of Accept. parameters: the text after its media type. */
static int item_weight(struct slice parameters, const char *const *versions)
{
    int weight = ACCEPT_WEIGHT_MAX;
    for (struct slice parameter; parameters.size;) {
        struct slice name, value;
        slice_cut(parameters, ';', &parameter, &parameters);
        slice_cut(slice_trim(parameter), '=', &name, &value);
        if (value.size >= 2 && value.data[0] == '"' && slice_ends_with(value, SLICE("\"")))
            value = slice_from(value.data + 1, value.size - 2);
        if (slice_equal_nocase(name, SLICE("q")))
            weight = read_weight(value);
        else if (slice_equal_nocase(name, SLICE("version")) && !is_one_of(value, versions))
            return 0;
    }
    return weight;
}

int accept_weight(const struct exchange *exchange, struct slice type, const char *const *versions)
{
    struct slice header = http_request_header(exchange->request, "Accept");
    int most = 0;
    for (struct slice item; header.size;) {
        struct slice name, parameters;
        slice_cut(header, ',', &item, &header);
        slice_cut(item, ';', &name, &parameters);
        if (!slice_equal_nocase(slice_trim(name), type))
            continue;
        int weight = item_weight(parameters, versions);
        most = weight > most ? weight : most;
    }
    return most;
}
